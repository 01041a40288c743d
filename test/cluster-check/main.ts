import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { scratch, type Scratch } from '../helpers/scratch.ts'
import { check, isStale, type Report } from './check.ts'
import type { Finding } from './verdict.ts'

/**
 * Runs several machines against failures and looks for a page from before an answered purge, and for lost purges, deliveries and events.
 *
 *   npm run cluster-check -- [--minutes 10] [--seed N] [--prove] [--report FILE]
 *
 * Three daemons with directories of their own share PostgreSQL and Redis, each behind relays that cut connections; a Varnish is in front of
 * one. Prints what was done and what was found, and exits with 1 if anything was. A seed gives the same faults in the same order; the
 * times of the operating system differ. `--prove` first checks a build whose purges do not wait for leases: a stale page must be found.
 * `--report` writes the counts in the form of .ci/report.js.
 */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    prove: { type: 'boolean', default: false },
    report: { type: 'string' },
  },
})
const [minutes, seed] = [Number(values.minutes), Number(values.seed)]
const root = fileURLToPath(new URL('../..', import.meta.url))
const claims: Finding[] = []
if (values.prove) claims.push(await prove())
const report = await check({ minutes, seed, program: null })
print(report)
claims.push(...report.findings)
const broken = claims.filter(({ faults }) => faults.length > 0)
if (values.report !== undefined) {
  const failures = broken.map(
    ({ claim, faults: [first = ''] }) => `cluster-check > ${claim}: ${first.split('\n', 1)[0]} (seed ${seed})`,
  )
  const result = { passed: claims.length - broken.length, skipped: 0, failures }
  writeFileSync(values.report, JSON.stringify({ files: { 'cluster-check': result }, outside: [] }))
}
// Children that were killed may keep handles of this process open.
process.exit(broken.length > 0 ? 1 : 0)

function print({ findings, faults: _faults, ...rest }: Report): void {
  console.log(JSON.stringify(rest, null, 2))
  for (const { claim, faults } of findings) {
    console.log(`${faults.length === 0 ? 'kept' : 'BROKEN'}: ${claim}`)
    for (const fault of faults.slice(0, 5)) console.log(`  ${fault}`)
    if (faults.length > 5) console.log(`  and ${faults.length - 5} more`)
  }
}

/** Whether the check finds a stale page if purges wait for a twentieth of a lease. */
async function prove(): Promise<Finding> {
  const build = await buildWithoutMargin()
  const { faults, seconds } = await check({
    minutes: 3,
    seed,
    program: join(build.path, 'bin/run.js'),
    untilStale: true,
  })
  await build.discard()
  const found = faults.find(isStale)
  console.log(
    `Without the margin of leases, ${found === undefined ? 'no' : 'a'} stale page is found in ${seconds} s. ${found ?? ''}`,
  )
  return {
    claim: 'a build without the margin of leases serves a stale page',
    faults: found === undefined ? ['no stale page was found'] : [],
  }
}

async function buildWithoutMargin(): Promise<Scratch> {
  const build = await scratch('pagecache-without-margin')
  for (const part of ['bin', 'commands', 'src', 'scripts', 'docs', 'package.json', 'tsconfig.json'])
    cpSync(join(root, part), join(build.path, part), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(build.path, 'node_modules'))
  const file = join(build.path, 'src/cluster/protocol.ts')
  const source = readFileSync(file, 'utf8')
  const changed = source.replace(/(driftMargin = )[\d.]+/, '$10.05')
  if (changed === source) throw new Error('src/cluster/protocol.ts has no driftMargin')
  writeFileSync(file, changed)
  execFileSync(process.execPath, ['scripts/build.js'], { cwd: build.path, stdio: 'inherit' })
  return build
}
