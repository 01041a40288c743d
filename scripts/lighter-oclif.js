import { withReplacements } from './replacements.js'

/** `const name = require("x")`, as TypeScript writes an import: whole, or as the default export. */
const declaration = /^const (\w+) = (require\(["'][^"']+["']\)|__importDefault\(require\(["'][^"']+["']\)\));$/gm

/**
 * Replacements in files of oclif, each needed at every start: `debug` is loaded for its messages only if they are wanted, a loaded
 * configuration is used instead of loading it again, WSL is not detected, JSON is read without `node:fs/promises`, and command ids are compared by code unit
 * instead of by locale, whose data would have to be loaded.
 */
const replacements = {
  'logger.js': [
    ['(0, debug_1.default)(namespace)', '(process.env.DEBUG ? (0, debug_1.default)(namespace) : () => {})'],
  ],
  'config/config.js': [
    ['if (isConfig(opts)) {', 'if (opts instanceof Config) return opts;\n        if (isConfig(opts)) {'],
  ],
  'config/plugin.js': [['a.id.localeCompare(b.id)', '(a.id < b.id ? -1 : a.id > b.id ? 1 : 0)']],
  'errors/handle.js': [['new index_1.Help(', 'new (await import("../help/index.js")).Help(']],
  'flags.js': [['(0, help_1.loadHelpClass)', '(await import("./help/index.js")).loadHelpClass']],
  'main.js': [
    ['(0, help_1.getHelpFlagAdditions)', 'require("./help/util").getHelpFlagAdditions'],
    ['(0, help_1.normalizeArgv)', 'require("./help/util").normalizeArgv'],
    ['(0, help_1.loadHelpClass)', '(await import("./help/index.js")).loadHelpClass'],
  ],
  'util/os.js': [["(await import('wsl-utils')).isWsl ? 'wsl' : ", '']],
  'util/fs.js': [['(0, promises_1.readFile)(path', '(0, require("node:fs").readFileSync)(path']],
}

/**
 * Makes oclif start faster: each of its files is run when something in it is first used, instead of all of them at once
 * (docs/decisions/0144-less-to-load-per-command.md).
 */
export function lighterOclif() {
  return {
    name: 'lighter-oclif',
    transform: {
      filter: { id: /@oclif\/core\/lib\// },
      handler: (code, id) =>
        withLateRequires(withReplacements(code, id, replacements[id.split('/@oclif/core/lib/')[1]] ?? [])),
    },
  }
}

/** Writes the call of `require` where its value is used. */
function withLateRequires(code) {
  return [...code.matchAll(declaration)].reduce(
    (text, [line, name, value]) => text.replace(line, '').replaceAll(new RegExp(`\\b${name}\\b`, 'g'), `(${value})`),
    code,
  )
}
