import { isBuiltin } from 'node:module'

/** An import in a chunk, as rolldown writes it: a default or a namespace, names in braces, a module. */
const importLine = /^import (?:(?:\* as )?([\w$]+))?(?:, )?(?:\{([^}]*)\})?(?: from )?"([^"]+)";$/gm

/** Modules that take milliseconds to load and that a short command does not use. */
const deferred = new Set(['node:crypto', 'node:child_process'])

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
  const isLater = ({ name }) => deferred.has(module) && /^[a-z]/.test(name)
  const now = names.filter((each) => !isLater(each)).map(({ name, local }) => `${name}: ${local}`)
  return [
    ...(whole === undefined ? [] : [`const ${whole} = ${got};`]),
    ...(now.length === 0 ? [] : [`const { ${now.join(', ')} } = ${got};`]),
    ...names.filter(isLater).map(({ name, local }) => `const ${local} = (...given) => ${got}.${name}(...given);`),
  ]
}
