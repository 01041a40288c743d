#!/usr/bin/env node
// Runs the commands from their sources, without a build or a manifest: `npm run dev -- cache:stats`
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { register } from 'tsx/esm/api'

process.env.NODE_ENV = 'development'
register()

const root = dirname(import.meta.dirname)
const pjson = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'))
// oclif maps dist/ to the sources through the compiler's JavaScript API, which TypeScript 7 lacks.
pjson.oclif.commands.target = './commands'
pjson.oclif.hooks.command_not_found = './src/cli/command-not-found.ts'
pjson.oclif.helpClass = './src/cli/help.ts'

const { main } = await import('../src/cli/main.ts')
await main(process.argv.slice(2), { root, pjson, ignoreManifest: true })
