/**
 * The frame around every page: rail, search field, page, panel beside it, time bar below, and the keys that work
 * everywhere. Which page and which memory are shown is in the address; opening the memory, or asking for a key,
 * comes first.
 */
import { type ReactNode, Suspense, useEffect, useLayoutEffect, useRef } from "react";
import { isTaken } from "../base/dialog.tsx";
import { NoticeCorner } from "../base/notice.tsx";
import { useWaiting, waitingCount } from "../base/reads.ts";
import { currentRoute, go, hrefOf, hrefWith, useRoute } from "../base/route.ts";
import { SignIn } from "../base/session.tsx";
import { StudioProvider, useLive, useOpening, useStudio } from "../base/studio.tsx";
import { FailureText, Loading } from "../base/ui.tsx";
import { Welcome } from "../home/welcome.tsx";
import { MemoryPanel } from "../memory/memory-panel.tsx";
import { WriteButton } from "../mend/write-dialog.tsx";
import { Icon, PAGES, pageAt, SIDE_PAGES } from "./pages.tsx";
import { SearchField } from "./search-field.tsx";
import { TimeBar } from "./time-bar.tsx";

/** The studio. */
export function App() {
  const opening = useOpening();
  switch (opening.kind) {
    case "opening":
      return (
        <Bare>
          <Loading what="the memory" />
        </Bare>
      );
    case "refused":
      return (
        <Bare>
          <SignIn />
        </Bare>
      );
    case "none":
      return (
        <Bare>
          <Welcome graph={opening.graph} />
        </Bare>
      );
    case "failed":
      return (
        <Bare>
          <h1>The memory cannot be opened</h1>
          <FailureText error={opening.error} isOwner={true} />
          <p className="about">It is tried again every few seconds.</p>
        </Bare>
      );
    case "open":
      return (
        <StudioProvider studio={opening.studio}>
          <Frame />
        </StudioProvider>
      );
  }
}

function Bare({ children }: { readonly children: ReactNode }) {
  return <main className="bare">{children}</main>;
}

function Frame() {
  const { page, params } = useRoute();
  const { at, graph } = useStudio();
  const live = useLive();
  useShortcuts();
  const shown = pageAt(page);
  useEffect(() => {
    document.title = `${shown?.name ?? "Not found"} · ${graph} · Cortex`;
  }, [shown, graph]);
  return (
    <div
      className={`frame${at === undefined ? "" : " is-past"}${params.m === undefined ? "" : " has-panel"}`}
    >
      <button type="button" className="skip" onClick={skipToPage}>
        Skip to the page
      </button>
      <Rail at={page} />
      <header className="top">
        <a
          className="graph-name"
          href={hrefOf("graphs")}
          title={`The memory of ${graph}. Choose another graph`}
        >
          <span dir="auto">{graph}</span>
          <span className="about" aria-hidden="true">
            ▾
          </span>
        </a>
        <SearchField />
        <WriteButton />
        <span className={`live live-${live}`} title={LIVE_WORDS[live]}>
          <span className="live-dot" aria-hidden="true" />
          <span className="live-word">{live === "live" ? "live" : live}</span>
        </span>
      </header>
      <main className="page" id="page" tabIndex={-1}>
        <Suspense fallback={<Loading what="the page" />}>
          {shown === undefined ? <NotFound page={page} /> : <shown.Body />}
        </Suspense>
      </main>
      {params.m !== undefined && <MemoryPanel key={params.m} id={params.m} />}
      <TimeBar />
      <NoticeCorner />
      <ShortcutHelp />
    </div>
  );
}

const LIVE_WORDS = {
  live: "What is written shows at once",
  connecting: "Connecting to what is being written",
  broken: "The stream of events broke off; trying again",
  off: "Not live: only the owner may follow the journal",
} as const;

function skipToPage(): void {
  document.getElementById("page")?.focus();
}

function Rail({ at }: { readonly at: string }) {
  const waiting = waitingCount(useWaiting().data);
  const rail = useRef<HTMLElement>(null);
  const home = pageAt(at)?.under ?? at;
  // On a phone the rail is wider than the screen: where the person is stays in sight.
  useEffect(() => {
    const here = rail.current?.querySelector(`[data-page="${CSS.escape(home)}"]`);
    here?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [home]);
  return (
    <nav className="rail" aria-label="Pages" ref={rail}>
      {PAGES.map(({ path, name, icon, about }) => (
        <a
          key={path}
          href={hrefOf(path)}
          title={about}
          data-page={path}
          aria-current={path === at ? "page" : path === home ? "true" : undefined}
          className="rail-item"
        >
          <Icon name={icon} />
          <span>{name}</span>
          {path === "review" && waiting !== "" && (
            <span className="rail-count">
              {waiting}
              <span className="unseen"> wait</span>
            </span>
          )}
        </a>
      ))}
    </nav>
  );
}

function NotFound({ page }: { readonly page: string }) {
  return (
    <>
      <h1>There is no page “{page}”</h1>
      <p>
        <a href={hrefOf("")}>Go home</a>, or type what you look for into the field above.
      </p>
    </>
  );
}

const HELP_ID = "shortcut-help";

/** Listens for keys while the frame is shown. */
function useShortcuts(): void {
  // Before the browser paints: whoever sees the page can press its keys.
  useLayoutEffect(() => {
    let isSecond = false;
    const onKey = (event: KeyboardEvent) => {
      if (isTaken(event)) return;
      const page = isSecond
        ? [...PAGES, ...SIDE_PAGES].find(({ shortcut }) => shortcut === event.key)
        : undefined;
      // However slow the hand: the key after `g` says where to, and any other key ends it.
      isSecond = event.key === "g" && !isSecond;
      if (page !== undefined) return go(hrefOf(page.path));
      if (event.key === "?") return openHelp();
      if (event.key === "Escape" && currentRoute().params.m !== undefined) {
        return go(hrefWith({ m: undefined }));
      }
      if (event.key === "n" && currentRoute().params.at !== undefined) {
        return go(hrefWith({ at: undefined }));
      }
    };
    const onPress = () => {
      isSecond = false;
    };
    window.addEventListener("keydown", onKey);
    window.addEventListener("pointerdown", onPress);
    return () => {
      window.removeEventListener("keydown", onKey);
      window.removeEventListener("pointerdown", onPress);
    };
  }, []);
}

function openHelp(): void {
  const dialog = document.getElementById(HELP_ID);
  if (dialog instanceof HTMLDialogElement && !dialog.open) dialog.showModal();
}

/** The list of keys. */
function ShortcutHelp() {
  const dialog = useRef<HTMLDialogElement>(null);
  const keys = [
    ["/ or Ctrl K", "ask, find, jump, run a command"],
    ...[...PAGES, ...SIDE_PAGES].map(({ shortcut, name }) => [`g ${shortcut}`, name]),
    ["n", "back to now"],
    ["1 to 4", "decide what is shown, in the review; j and k go on and back"],
    ["Esc", "close the panel"],
    ["?", "this list"],
  ];
  return (
    <dialog ref={dialog} id={HELP_ID} aria-labelledby={`${HELP_ID}-title`}>
      <h2 id={`${HELP_ID}-title`}>Keys</h2>
      <dl className="keys">
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}
