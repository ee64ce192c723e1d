/**
 * The start of the studio: one cache for everything that is read, and the frame.
 */
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/pages.css";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/app.tsx";
import { preloadPage } from "./app/pages.tsx";

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // The client itself asks again where that may help.
      retry: false,
      networkMode: "always",
      refetchOnWindowFocus: false,
    },
    mutations: { retry: false, networkMode: "always" },
  },
});

preloadPage();
const place = document.getElementById("studio");
if (place === null) throw new Error("the page has no place for the studio");
createRoot(place).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
);
