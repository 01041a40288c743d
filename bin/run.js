#!/usr/bin/env node
// Uses only syntax of Node 12, so that an old Node prints a sentence instead of a syntax error.
const needed = [22, 19]
const [major, minor] = process.versions.node.split('.').map(Number)

if (major < needed[0] || (major === needed[0] && minor < needed[1])) {
  process.stderr.write(`pagecache needs Node ${needed.join('.')} or later; this is ${process.version}.\n`)
  process.exitCode = 2
} else {
  if (process.argv[2] === 'serve') restartWithOptions()
  start()
}

/**
 * Runs the daemon with options of Node that count only from the start of a process. docs/deploy.md names them too. A process that was
 * started with `--use-largepages`, on its command line or in NODE_OPTIONS, keeps its own.
 */
function restartWithOptions() {
  const { argv, channel, env, execArgv, execPath, execve, pid } = process
  if (/--use[-_]largepages/.test(`${execArgv.join(' ')} ${env.NODE_OPTIONS}`)) return
  // Node would close sockets and channels that the process has inherited.
  if (channel !== undefined || env.LISTEN_PID === String(pid)) return
  const options = [
    // A miss runs through much of Node's code, and the processor finds the addresses of small pages slowly.
    '--use-largepages=silent',
    // MB of each half of the young generation: `largeEnough` in src/lib/steady-heap.ts. V8 would shrink it while the daemon is idle.
    '--min-semi-space-size=12',
  ]
  try {
    // A program that is not found would end the process: without /proc, Node knows only its name.
    process.getBuiltinModule('node:fs').accessSync(execPath)
    execve(execPath, [execPath, ...options, ...execArgv, ...argv.slice(1)], env)
  } catch {
    // Windows, and Node's permission model, do not allow it. The daemon runs without the options too.
  }
}

async function start() {
  process.stdout.on('error', (error) => {
    // The reader closed the pipe early (| head), which is not an error.
    if (error.code === 'EPIPE') process.exit(process.exitCode || 0)
    process.stderr.write(`Error: Could not write the output: ${error.message}\n`)
    process.exit(1)
  })
  process.stderr.on('error', (error) => {
    if (error.code === 'EPIPE') process.exit(process.exitCode || 0)
    // A daemon keeps running when its log disk is full.
  })
  // Unlike an import, this does not run the getters of the modules' exports, which load further modules.
  const { enableCompileCache } = process.getBuiltinModule('node:module')
  const compiled = compiledCode()
  const cached = compiled !== null && enableCompileCache(compiled).directory !== undefined
  if (process.argv[2] === '--version' || process.argv[2] === '-v') printVersion()
  else {
    const { main } = await (cached ? loadCompiled() : loadMain())
    await main(process.argv.slice(2), { root: import.meta.dirname })
  }
}

function loadMain() {
  return import('../dist/cli/main.js')
}

/**
 * Loads the command line with all its functions compiled. Node caches the code of a module before the module runs, when V8 has compiled
 * few of its functions; the others would be compiled in each run. The flag also decides which cached code is valid, such as that of Node's
 * own modules, so it is set only until the import has been compiled, which Node does before it returns.
 */
function loadCompiled() {
  const { setFlagsFromString } = process.getBuiltinModule('node:v8')
  setFlagsFromString('--no-lazy')
  try {
    return loadMain()
  } finally {
    setFlagsFromString('--lazy')
  }
}

/**
 * Directory of the compile cache; null if this user has no private one. Cached code is executed, so Node's default is unsafe: another
 * user could create its predictable directory under /tmp first, and run code as this user.
 */
function compiledCode() {
  if (process.env.NODE_COMPILE_CACHE) return process.env.NODE_COMPILE_CACHE
  const [fs, { homedir }, { join }] = ['node:fs', 'node:os', 'node:path'].map(process.getBuiltinModule)
  try {
    const home = homedir()
    // Under sudo, HOME may belong to another user.
    if (process.getuid && fs.statSync(home).uid !== process.getuid()) return null
    const caches = join(home, '.cache')
    const directory = join(caches, 'pagecache')
    // Node would make them recursively, which never ends where the system reports ENOENT below an existing directory, as in /proc.
    for (const each of [caches, directory]) if (!fs.existsSync(each)) fs.mkdirSync(each, { mode: 0o700 })
    return directory
  } catch {
    return null
  }
}

/** Prints the version without loading oclif, because scripts call it often. */
function printVersion() {
  const { readFileSync } = process.getBuiltinModule('node:fs')
  const { name, version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  process.stdout.write(`${name}/${version} ${process.platform}-${process.arch} node-${process.version}\n`)
}
