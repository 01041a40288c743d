// Preloaded into the child processes of a daemon (src/daemon/supervise.ts). Node announces a child to its parent before any module
// runs. If the parent has exited by then, an error without a listener would print a stack trace; Node ends the child anyway.
require('node:cluster').worker?.on('error', () => {})
