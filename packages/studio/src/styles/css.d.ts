/** Style sheets are loaded for what they do to the page. */
declare module "*.css";
