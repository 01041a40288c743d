/**
 * Writes the snapshots of the stable surface for test/contract, and generates docs/commands.md, docs/openapi.json and docs/pagecache.schema.json. A difference in
 * review is a change that users notice. Also generates the schema of new records from the migrations.
 *
 *     npm run snapshot
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { operations } from '../src/operations/index.ts'
import { openapiDocument } from '../src/operations/openapi/document.ts'
import { newSchemaFile } from './new-schema.ts'
import { commandReference } from './command-reference.ts'
import { configSchemaFile } from './config-schema.ts'
import { commandSurface, configurationSurface, type Manifest } from './surface.ts'

const root = new URL('../', import.meta.url)
const manifest = JSON.parse(readFileSync(new URL('oclif.manifest.json', root), 'utf8')) as Manifest

function write(file: string, text: string): void {
  writeFileSync(new URL(file, root), text)
}

write('test/contract/commands.json', `${JSON.stringify(commandSurface(manifest), null, 2)}\n`)
write('test/contract/configuration.json', `${JSON.stringify(configurationSurface(), null, 2)}\n`)
write('docs/commands.md', commandReference(manifest))
write(
  'docs/pagecache.schema.json',
  `${JSON.stringify(configSchemaFile(readFileSync(new URL('docs/configuration.md', root), 'utf8')), null, 2)}\n`,
)
write('docs/openapi.json', `${JSON.stringify(openapiDocument(operations), null, 2)}\n`)
write('src/records/migrations/new-schema.ts', await newSchemaFile())
