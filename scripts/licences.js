/** dist/LICENCES.txt: what is bundled is passed on, and the licences of the libraries in it ask that their text goes along. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * @param {Iterable<string>} modules paths of the files that a bundle is made of
 * @returns {string} each package among them with its version and the text of its licence
 * @throws where a package has neither a text nor a name of its licence
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
    throw new Error(`${name} has no licence that could go along with the bundle.`)
  return `${name} ${version} (${license})\n\n${file === undefined ? '' : readFileSync(join(directory, file), 'utf8').trim()}\n`
}
