/**
 * Measures what watching costs: the CPU time of `warmup:watch` during a running warmup, as a share of one core, on the screen of a real
 * terminal (tmux) at three sizes. The daemon of a demo processes the warmup.
 *
 * `npx node bench/monitor.ts PROJECT_DIR [SECONDS]`, with the project directory of a running `pagecache demo --keep`.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'

const program = fileURLToPath(new URL('../bin/run.js', import.meta.url))
const [projectDir, secondsGiven = '10'] = process.argv.slice(2)
if (projectDir === undefined)
  throw new Error(
    'Missing argument: the project directory of a running demo. Usage: npx node bench/monitor.ts PROJECT_DIR',
  )
const seconds = Number(secondsGiven)
/** Clock ticks per second, the unit of CPU times in /proc on every Linux that Node supports. */
const ticks = 100

function tmux(...args: string[]): string {
  return execFileSync('tmux', ['-L', 'pagecache-bench', '-f', '/dev/null', ...args], { encoding: 'utf8' })
}

/** CPU time so far, in seconds, and resident memory, in megabytes. */
function usage(pid: string): { time: number; rss: number } {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  const rss = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]!
  return { time: (Number(fields[11]) + Number(fields[12])) / ticks, rss: Number(rss) / 1024 }
}

console.log('screen         CPU (one core)   memory')
for (const [columns, rows] of [
  [80, 24],
  [120, 40],
  [200, 60],
] as const) {
  execFileSync(process.execPath, [program, 'warmup:start', '--force', '--project-dir', projectDir], { stdio: 'ignore' })
  tmux(
    'new-session',
    '-d',
    '-x',
    String(columns),
    '-y',
    String(rows),
    '-s',
    'bench',
    `exec ${process.execPath} ${program} warmup:watch --project-dir ${projectDir}`,
  )
  const pid = tmux('list-panes', '-t', 'bench', '-F', '#{pane_pid}').trim()
  await sleep(2500)
  const before = usage(pid)
  await sleep(seconds * 1000)
  const after = usage(pid)
  tmux('kill-session', '-t', 'bench')
  console.log(
    `${`${columns}×${rows}`.padEnd(11)} ${(((after.time - before.time) * 100) / seconds).toFixed(1).padStart(12)} % ${after.rss.toFixed(0).padStart(12)} MB`,
  )
}
