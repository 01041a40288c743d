import { isBuiltin } from 'node:module'

/** An import in a chunk, as rolldown writes it: a default or a namespace, names in braces, a module. */
const importLine = /^import (?:(?:\* as )?([\w$]+))?(?:, )?(?:\{([^}]*)\})?(?: from )?"([^"]+)";$/gm

/** Modules that take milliseconds to load and that a short command does not use. */
const deferred = new Set([
  'node:crypto',
  'node:child_process',
  'node:fs/promises',
  'node:worker_threads',
  'node:zlib',
  'node:net',
  'node:timers/promises',
  'node:stream/consumers',
])

/**
 * Replaces imports of Node's modules in chunks. An import statement makes Node copy all exports of such a module at once, which runs its
 * getters: `node:fs` then loads its promises and streams, `node:crypto` loads WebCrypto. Functions of a deferred module load it when
 * they are first called (docs/decisions/0077-files-of-a-short-command.md).
 */
export function lazyBuiltins() {
  return {
    name: 'lazy-builtins',
    renderChunk: (code) =>
      code.replaceAll(importLine, (line, whole, names, module) =>
        isBuiltin(module) ? declarationsOf(whole, namesIn(names), module).join('') : line,
      ),
  }
}

/** @returns {{ name: string, local: string }[]} */
function namesIn(list = '') {
  return list
    .split(',')
    .map((each) => each.trim().split(' as '))
    .filter(([name]) => name !== '')
    .map(([name, local = name]) => ({ name, local }))
}

function declarationsOf(whole, names, module) {
  const got = `process.getBuiltinModule("${module}")`
  if (!deferred.has(module)) {
    const taken = names.map(({ name, local }) => `${name}: ${local}`)
    return [
      ...(whole === undefined ? [] : [`const ${whole} = ${got};`]),
      ...(taken.length === 0 ? [] : [`const { ${taken.join(', ')} } = ${got};`]),
    ]
  }
  const cell = `later_${module.replaceAll(/\W/g, '_')}`
  const later = `(${cell} ??= ${got})`
  return [
    `let ${cell};`,
    ...(whole === undefined ? [] : [`const ${whole} = new Proxy({}, { get: (_, name) => ${later}[name] });`]),
    ...names.map(({ name, local }) =>
      isCallable(name, module) ? laterOf(name, local, later) : `const { ${name}: ${local} } = ${got};`,
    ),
  ]
}

/** Whether an export is a function, or a class that is only constructed. */
function isCallable(name, module) {
  return /^(?:[a-z]|(?:Worker|BlockList)$)/.test(name) && typeof process.getBuiltinModule(module)[name] === 'function'
}

function laterOf(name, local, later) {
  return /^[A-Z]/.test(name)
    ? `function ${local}(...given) { return new ${later}.${name}(...given) }`
    : `const ${local} = (...given) => ${later}.${name}(...given);`
}

/** The part of the global `performance` that pagecache uses. */
const timer = `
const start = process.hrtime()
export const timer = {
  timeOrigin: Date.now(),
  now() {
    const [seconds, nanoseconds] = process.hrtime(start)
    return seconds * 1e3 + nanoseconds / 1e6
  },
}`

/** Reads the monotonic time from `process`: the global `performance` loads thirteen of Node's modules when it is first used. */
export function lighterTimer() {
  const name = 'lighter-timer'
  return {
    name,
    resolveId: { filter: { id: /^lighter-timer$/ }, handler: () => name },
    load: { filter: { id: /^lighter-timer$/ }, handler: () => timer },
    transform: {
      filter: { id: /\/(?:src|commands)\/.*\.tsx?$|\/lru-cache\//, code: /\bperformance\.(?:now|timeOrigin)\b/ },
      handler(code, id) {
        if (/\bperformance\.(?!(?:now|timeOrigin)\b)/.test(code))
          throw new Error(`${id} uses more of performance than ${name} has`)
        return `import { timer as performance } from '${name}';${code}`
      },
    },
  }
}
