// Loaded first of all into the processes of a daemon (src/daemon/supervise.ts). Node itself tells the parent that the process is there,
// before anything of ours runs, and without a listener a parent that has gone by then would be a stack trace. Node ends the process anyway.
require('node:cluster').worker?.on('error', () => {})
