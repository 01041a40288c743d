/**
 * Bundles the product into dist/ (one entry per command, shared chunks) and writes oclif.manifest.json. Bundling keeps start-up short;
 * docs/decisions/0001-bundle.md has the measurement. A command loads only its own entry: `--help` and `--version` load neither the
 * database nor h3, undici or Ink (test/contract/start-up.test.ts).
 */
import { copyFileSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { lazyBuiltins, lighterTimer } from './builtins.js'
import { licencesOf } from './licences.js'
import { lighterOclif } from './lighter-oclif.js'
import { withReplacements } from './replacements.js'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** Entries of the command line: the commands, and what bin/ and oclif load by path. */
const commandEntries = ['commands/**/*.ts', 'src/cli/main.ts', 'src/cli/command-not-found.ts', 'src/cli/help.ts']

/** Entries of worker threads and of the demo's shop. They share no file with the commands, of which each would load a part. */
const threadEntries = [
  'src/demo/shop-main.ts',
  'src/stages/tracker-main.ts',
  'src/pages/writer-main.ts',
  'src/purge/purger-main.ts',
]

/** Everything that each command loads, and the page store, in one file each: looking for fifty small files takes longer than reading them. */
const commandGroups = [
  {
    name: 'command',
    test: new RegExp(
      [
        'src/cli/(?:main|base-command|output|list|chart|present-traffic)\\.ts$',
        'src/lib/(?:format-bytes|moment|timing)\\.ts$',
        'src/operations/(?:own-node|read-pages)\\.ts$',
        'zod/v4/mini/iso\\.js$',
        'rolldown/runtime\\.js$',
      ].join('|'),
    ),
  },
  { name: 'pages', test: /src\/pages\/filesystem-store\.ts$/ },
]

/** Not bundled: loading own files at run time (`undici`), or only used where it is configured. */
const external = ['pg', 'redis', 'undici']

rmSync(join(root, 'dist'), { recursive: true, force: true })
const bundled = [
  ...(await bundle(commandEntries, commandGroups)),
  ...(await bundle(threadEntries, [])),
  ...(await bundleStorefrontScript()),
  ...(await bundleAdmin()),
]
writeFileSync(join(root, 'dist/LICENCES.txt'), licencesOf(bundled))
await writeManifest()

async function bundle(patterns, groups) {
  const build = await rolldown({
    cwd: root,
    input: entries(patterns),
    platform: 'node',
    plugins: [standIns(), lighterOclif(), lighterH3(), lazyWidth(), nativeSqlite(), lighterTimer(), lazyBuiltins()],
    // React's development build takes twice as long to render.
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
    external: (id) => external.some((name) => id === name || id.startsWith(`${name}/`)),
    onLog(level, log, defaultHandler) {
      if (log.code === 'UNRESOLVED_IMPORT') throw new Error(log.message)
      defaultHandler(level, log)
    },
  })
  const { output } = await build.write({
    dir: join(root, 'dist'),
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
    codeSplitting: { groups },
    // Halves the bytes to read, compare with the compile cache and compile. Names of functions and classes are kept for readable stacks.
    minify: { compress: true, mangle: { toplevel: false, keepNames: true }, codegen: { removeWhitespace: true } },
  })
  await build.close()
  for (const { code, fileName } of output)
    if (/[^\0-\x7f]/.test(code)) writeFileSync(join(root, 'dist', fileName), inAscii(code))
  return modulesIn(output)
}

/** Escapes other characters: V8 needs two bytes for each character of a file, and longer to read it, if one of them is none of Latin-1. */
function inAscii(code) {
  return code.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Paths of the modules in a bundle. */
function modulesIn(output) {
  return output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []))
}

/** Bundles the script for visitors' browsers into one small file. */
async function bundleStorefrontScript() {
  const build = await rolldown({
    cwd: root,
    input: 'src/stages/client/main.ts',
    platform: 'browser',
    transform: { target: 'es2022' },
  })
  const { output } = await build.write({ file: join(root, 'dist/stages/client.js'), format: 'iife', minify: true })
  await build.close()
  return modulesIn(output)
}

/** Bundles the operators' page (src/admin) into dist/admin, which src/http/admin/page.ts serves. */
async function bundleAdmin() {
  const source = join(root, 'src/admin')
  const target = join(root, 'dist/admin')
  const build = await rolldown({
    cwd: root,
    input: { admin: join(source, 'main.tsx') },
    platform: 'browser',
    tsconfig: join(source, 'tsconfig.json'),
  })
  const { output } = await build.write({
    dir: target,
    format: 'esm',
    entryFileNames: '[name].js',
    codeSplitting: false,
    minify: true,
  })
  await build.close()
  copyFileSync(join(source, 'index.html'), join(target, 'index.html'))
  const styles = [join(root, 'node_modules/uplot/dist/uPlot.min.css'), join(source, 'admin.css')]
  writeFileSync(join(target, 'admin.css'), styles.map((file) => readFileSync(file, 'utf8')).join('\n'))
  return [...modulesIn(output), ...styles]
}

/**
 * Replaces modules whose work is never needed. oclif uses `tinyglobby` without a manifest, `lilconfig` without its section in package.json,
 * `minimatch` for plugins, which pagecache does not have, `cli-spinners` for progress that pagecache shows itself, and `wsl-utils` for a user agent that pagecache never sends. Ink imports React's
 * development tools for its own development, and they are not installed.
 */
function standIns() {
  const codes = {
    tinyglobby: "export function glob() { throw new Error('oclif.manifest.json is missing.') }",
    lilconfig: 'export {}',
    minimatch: 'export {}',
    // oclif reads the frames of one of them where stderr is a terminal.
    'cli-spinners': 'export default { dots2: { frames: [] }, line: { frames: [] } }',
    'wsl-utils': 'export const isWsl = false',
    'react-devtools-core': 'export default {}',
  }
  const filter = { id: new RegExp(`^(?:${Object.keys(codes).join('|')})$`) }
  return {
    name: 'stand-ins',
    resolveId: { filter, handler: (id) => id },
    load: { filter, handler: (id) => codes[id] },
  }
}

/** Bundles the library that `src/cli/cells.ts` requires. Like all modules that are only required, it runs at the first call. */
function lazyWidth() {
  const replacements = [['const require = createRequire(import.meta.url)', '']]
  return {
    name: 'lazy-width',
    transform: {
      filter: { id: /src\/cli\/cells\.ts$/ },
      handler: (code, id) => withReplacements(code, id, replacements),
    },
  }
}

/**
 * Makes the daemon start a tenth faster: Node's `Headers` and `Response` load all of undici. The daemon uses only URLs from srvx and
 * sends its responses without h3 (docs/decisions/0061-every-endpoint-is-h3.md), so h3's constant headers may be plain objects.
 */
function lighterH3() {
  const srvx = 'lighter-srvx'
  const url = join(root, 'node_modules/srvx/dist/_chunks/_url.mjs')
  const replacements = [
    [/new FrozenHeaders\(({[^}]*})\)/g, '$1'],
    ['extends Headers', ''],
  ]
  return {
    name: 'lighter-h3',
    resolveId: { filter: { id: /^srvx$/ }, handler: () => srvx },
    load: {
      filter: { id: new RegExp(`^${srvx}$`) },
      handler: () => `
        export { FastURL } from ${JSON.stringify(url)}
        export function FastResponse(body, init) { return new Response(body, init) }`,
    },
    transform: {
      filter: { id: /\/h3\/dist\/response\.mjs$/ },
      handler: (code, id) => withReplacements(code, id, replacements),
    },
  }
}

/** Bundles the JavaScript of better-sqlite3, fourteen small files, and leaves its native part where it is installed. */
function nativeSqlite() {
  const installed = 'path.dirname(require.resolve("better-sqlite3/package.json"))'
  const replacements = [
    ['let DEFAULT_ADDON;', `const installed = ${installed};\nlet DEFAULT_ADDON;`],
    ["__dirname, '..'", 'installed'],
    ['require.main === module', 'false'],
  ]
  return {
    name: 'native-sqlite',
    transform: {
      filter: { id: /\/better-sqlite3\/lib\/binding\.js$/ },
      handler: (code, id) => withReplacements(code, id, replacements),
    },
  }
}

/** @returns {Record<string, string>} output name in dist/, without extension → source file */
function entries(patterns) {
  const files = globSync(patterns, { cwd: root })
  return Object.fromEntries(files.sort().map((file) => [file.replace(/^src\//, '').replace(/\.ts$/, ''), file]))
}

/** Writes the manifest as `oclif manifest` does, but faster (docs/decisions/0067-oclif-cli.md), and what src/cli/load-oclif.ts reads. */
async function writeManifest() {
  const { Plugin } = await import('@oclif/core/config')
  const plugin = new Plugin({
    root,
    type: 'core',
    ignoreManifest: true,
    errorOnManifestCreate: true,
    respectNoCacheDefault: true,
  })
  await plugin.load()
  const commands = Object.entries(plugin.manifest.commands).sort(([a], [b]) => (a < b ? -1 : 1))
  const manifest = { ...plugin.manifest, commands: Object.fromEntries(commands) }
  writeFileSync(join(root, 'oclif.manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  const found = [
    'id',
    'aliases',
    'hidden',
    'hiddenAliases',
    'isESM',
    'pluginAlias',
    'pluginName',
    'pluginType',
    'relativePath',
  ]
  const names = commands.map(([id, command]) => [id, Object.fromEntries(found.map((field) => [field, command[field]]))])
  const { name, version, type, oclif } = plugin.pjson
  const manifestOfNames = { ...manifest, commands: Object.fromEntries(names) }
  writeFileSync(
    join(root, 'dist/commands.json'),
    JSON.stringify({ pjson: { name, version, type, oclif }, manifest: manifestOfNames }),
  )
}
