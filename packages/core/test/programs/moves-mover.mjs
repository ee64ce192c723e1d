/**
 * Moves a store over and over, or once, until it is killed. Told `{ folder, what, file }`, it says
 * `start` before and `moved` after each move.
 */
import { importJournal, open, upgrade } from "../../dist/index.js";
import { receive, say } from "./lines.mjs";

say("ready");
const { folder, what, file } = await receive();

async function moveAgainAndAgain(move) {
  const memory = await open(folder, { actor: "ada" });
  for (;;) {
    say("start");
    await move(memory);
    say("moved");
  }
}

switch (what) {
  case "vacuum":
    await moveAgainAndAgain((memory) => memory.vacuum());
    break;
  case "rebuild":
    await moveAgainAndAgain((memory) => memory.rebuild());
    break;
  case "import":
    say("start");
    await importJournal(folder, file, { actor: "ada" });
    say("moved");
    break;
  case "upgrade":
    say("start");
    await upgrade(folder, { actor: "ada", backup: file });
    say("moved");
    break;
}
await receive();
