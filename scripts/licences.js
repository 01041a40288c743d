/** Generates dist/LICENCES.txt: licences require that their text is distributed with the bundled libraries. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * @param {Iterable<string>} modules paths of the bundled files
 * @returns {string} each package with its version and licence text
 * @throws if a package has neither a licence file nor a licence name
 */
export function licencesOf(modules) {
  const packages = new Set(
    [...modules]
      .map((path) => /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1])
      .filter((path) => path !== undefined),
  )
  return [...packages]
    .sort()
    .map(licenceOf)
    .join(`\n${'-'.repeat(80)}\n\n`)
}

function licenceOf(directory) {
  const { name, version, license } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))
  const [file] = globSync('{licen[cs]e,LICEN[CS]E,Licen[cs]e}*', { cwd: directory }).filter((path) =>
    existsSync(join(directory, path)),
  )
  if (file === undefined && typeof license !== 'string')
    throw new Error(`${name} has no licence, so it must not be bundled.`)
  return `${name} ${version} (${license})\n\n${file === undefined ? '' : readFileSync(join(directory, file), 'utf8').trim()}\n`
}
