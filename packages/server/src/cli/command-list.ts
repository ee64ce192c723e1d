/**
 * The flags and commands that the front page lists. This file is generated from the tables of the program;
 * edit those. It stands for them where loading them would cost more than all the rest.
 */

/** Headings, and below each of them what it is about: a term, a colon, a few words. */
export const COMMAND_LIST = `Every command:
  --data <DIR|URL>: the store: a folder, the address of a server such as http://127.0.0.1:7777, a database such as postgres://cortex@db:5432/cortex, or memory: for one that is not kept
  --actor <NAME>: whose memory; default when not given
  --json: print one JSON document, for scripts
Memories:
  write TYPE [TEXT|JSON|-...]: Write one memory; text that is known already reinforces the memory that says it
  note KIND TEXT|-...: Write a note: free text under a kind
  get URI|ID: Read one memory by id, URI or external id
  resolve URI: Read exactly what a URI pins
  update ID [TEXT|JSON|-...]: Append a version to a memory
  update-head ID: Change tags, importance and the like, without a new version
  tombstone ID [REASON...]: Hide a memory; restore brings it back
  restore ID|FILE...: Bring back what was hidden or archived; given backup files, build a new store from them
  forget [ID] [REASON...]: Destroy a memory's content for good; proofs made before still verify
  history ID: List the versions of a memory, newest first
  inspect ID: Show a memory with its links, versions and counters
  list: List memories by type, tag, kind, slot, session or frame
  batch [FILE|-]: Do many writes, updates and links in one commit
  review ls|settle: Decide between memories that contradict, rival or repeat each other
  slot NAME: List the values a slot has had, newest first, each with the time for which it held
  recall TEXT...: Recall what answers a question, as text for a prompt
  search TEXT...: Find memories by words, the best first
  search-batch TEXT...: Ask in several ways at once, and fuse what is found
  find: Find memories by exact conditions
Conversations:
  remember [FILE|-]: Keep the turns of a conversation verbatim
  session SESSION: Read a conversation back, in order
  sessions [PREFIX]: List the conversations, the one that was added to last first
  extract: Distil the turns that wait into facts and links
Links:
  relink: Look for links between memories in the whole graph
  edge add|rm|get|ls: Add, remove, read and list single links between memories
  link FROM KIND TO: Link two memories
  traverse ID: Walk the links from a memory
  links ID: What a memory points at, without repeats
  backlinks ID: What points at a memory, without repeats
Context and learning:
  context: Show what an agent should have before it when it starts on something
  attest TASK OUTCOME ID...: Say how a task ended and which memories it used
  weights: Show the weights of salience
  compact TASK STEP ID...: Make a context smaller, and remember what was in it
  context-record TASK STEP: Show what compact left at a step of a task
Goals:
  goal get|set|clear|ls: Keep how a goal is going beside the goal: set, read, clear and list
Graphs:
  graph create|ls|config|symlinks|check|rm: Make, list, configure and look after the graphs of a folder
  copy FROM TO: Copy every graph of a folder or a database into another
Journal and roots:
  log: Show journal entries, without content
  journal-page: Show a stretch of the journal with its bytes, as a replica reads it
  changes FROM [TO]: Show what happened after one position, up to another
  revert SEQ: Undo what one entry did, by a new entry
  root: Show the root over everything
  check: Check journal, hashes, rows and roots against each other
  rebuild: Build everything derived again from the journal
  checkpoint: Show the checkpoint of the current position
  snapshot [REASON...]: Seal the roots of the current position under a number
  snapshots: List snapshots, newest first
  prove [ID...]: Prove memories, edges and entries to whoever trusts a checkpoint
  share: Hand out the memories that match, with a proof
  verify FILE|-: Check a proof, a shared slice or a checkpoint, without any store
Store:
  config: Show the settings in force and the graph's configuration
  stats: Show where the store is and how much it holds
  schema: Show the types, kinds, tags, slots and edge kinds in use
  tags [PREFIX]: List the tags in use
  maintain: Do what keeps the store quick, small and in order
  embed: Give every memory the vector of its current text
  vacuum: Write the store anew, so that its file keeps no byte of what was forgotten
  scrub: Read everything stored and compare it with its hashes, at a given rate
  export FILE|-: Write the whole journal to a portable file
  import [FILE|-]: Build a new store from an export; given --from, read a file of another program
  backup FILE|-: Make a consistent copy while others write
  erasures FILE|-: Write the list of what was forgotten, for restores
  erase-again FILE: Erase again what a list names, in a store that was set back
  repair: Build a damaged store again, with what it lost from a backup or another copy
  upgrade: Bring a store that an older release wrote to this one's form
  follow URL: Keep a read-only replica of the store of a running server
  promote: Make a replica a store of its own, which takes writes
  serve: Serve every store of a folder over HTTP
  mcp [config]: Serve the store to an agent: MCP over stdin and stdout
  demo: Show what it does, on a small graph of its own
  bench: Measure this machine: writes, reads and searches in a store of its own
  completion SHELL: Print a script that completes commands in your shell
Letting others in:
  keygen FILE: Make a key that signs scopes, or that scopes are granted to
  scope issue|show|post|revoke: Give others a part of a graph to read or write, and take it back`;
