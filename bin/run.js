#!/usr/bin/env node
// Readable by every Node since 12, so that an old one gets a sentence and not a syntax error.
const needed = [22, 19]
const [major, minor] = process.versions.node.split('.').map(Number)

if (major < needed[0] || (major === needed[0] && minor < needed[1])) {
  process.stderr.write(`pagecache needs Node ${needed.join('.')} or later; this is ${process.version}.\n`)
  process.exitCode = 2
} else {
  start()
}

async function start() {
  process.stdout.on('error', (error) => {
    // A reader that has enough (| head) ends the program quietly; it is no error.
    if (error.code === 'EPIPE') process.exit(process.exitCode || 0)
    process.stderr.write(`Error: The output cannot be written: ${error.message}\n`)
    process.exit(1)
  })
  process.stderr.on('error', (error) => {
    if (error.code === 'EPIPE') process.exit(process.exitCode || 0)
    // A daemon whose log is full goes on; there is nowhere to say so.
  })
  const { enableCompileCache } = await import('node:module')
  const compiled = await compiledCode()
  if (compiled !== null) enableCompileCache(compiled)
  if (process.argv[2] === '--version') await printVersion()
  else {
    const { main } = await import('../dist/cli/main.js')
    await main(process.argv.slice(2), { root: import.meta.dirname })
  }
}

/**
 * Where compiled code is kept for the next start; null where no place is this user's own. What lies there is run: Node's own choice, a
 * name in the temporary directory that anybody may take first, would let others run their code as this user.
 */
async function compiledCode() {
  if (process.env.NODE_COMPILE_CACHE) return process.env.NODE_COMPILE_CACHE
  const [{ statSync }, { homedir }, { join }] = [
    await import('node:fs'),
    await import('node:os'),
    await import('node:path'),
  ]
  try {
    const home = homedir()
    // HOME may name somebody else's, under sudo for example.
    if (process.getuid && statSync(home).uid !== process.getuid()) return null
    return join(home, '.cache', 'pagecache')
  } catch {
    return null
  }
}

/** Without the command framework: what asks for the version is often a script that asks often. */
async function printVersion() {
  const { readFileSync } = await import('node:fs')
  const { name, version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  process.stdout.write(`${name}/${version} ${process.platform}-${process.arch} node-${process.version}\n`)
}
