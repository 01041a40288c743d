import type { listScheduledTasks, ScheduledTasks } from '../../../operations/scheduled-task.ts'
import { block, emptyView, gap, label, labelWidth } from '../../block.ts'
import { known, moment } from '../../facts.ts'
import type { Panel, Row } from '../../panel.ts'
import { stalest } from '../../stale.ts'
import { planFeed } from '../../feed.ts'
import { defineTab } from '../../tab.ts'
import { ago, shortSpan } from '../../text/amount.ts'
import { join, span, type Line, type Tone } from '../../text/line.ts'
import { cutMiddle, padEnd, padStart } from '../../text/width.ts'

type ScheduledTask = ScheduledTasks['items'][number]

export const taskPlan = planFeed<typeof listScheduledTasks>('scheduled-task.list', {}, 2000)

const states: Record<ScheduledTask['status'], { sign: string; tone: Tone }> = {
  scheduled: { sign: '·', tone: 'dim' },
  queued: { sign: '›', tone: 'accent' },
  running: { sign: '●', tone: 'good' },
  failed: { sign: '×', tone: 'bad' },
  skipped: { sign: '‖', tone: 'warn' },
  inactive: { sign: '-', tone: 'warn' },
}

/** Scheduled tasks: last and next run, result and error. */
export const tasksTab = defineTab({
  id: 'tasks',
  title: 'Tasks',
  plans: { tasks: taskPlan },
  view({ feeds, values: { tasks }, now, time }) {
    const stale = stalest([feeds['tasks']], now)
    if (tasks === null) return emptyView('Loading tasks …', stale)
    return {
      blocks: [
        block(0, (width) => [
          [
            label('tasks'),
            ...join(
              Object.entries(countByState(tasks)).map(([status, count]): Line => [
                span(`${count} `),
                span(status, states[status as ScheduledTask['status']].tone),
              ]),
              width - labelWidth,
            ),
          ],
        ]),
        gap,
      ],
      panels: [tasksPanel(tasks, time)],
      stale,
      run: null,
      short: tasksInShort(tasks),
    }
  },
})

function countByState({ items }: ScheduledTasks): Record<string, number> {
  return Object.fromEntries(
    [...Map.groupBy(items, ({ status }) => status)].map(([status, tasks]) => [status, tasks.length]),
  )
}

/** `4 scheduled`, `3 scheduled, 1 failed`. */
export function tasksInShort(tasks: ScheduledTasks): string {
  return Object.entries(countByState(tasks))
    .map(([status, count]) => `${count} ${status}`)
    .join(', ')
}

/** Widths of the longest task name and of the last-run column, in cells. */
const nameCells = 40
const lastCells = 23

/** Delay after which a task counts as late, in milliseconds. */
const lateAfter = 600_000

function tasksPanel({ items }: ScheduledTasks, time: number): Panel {
  return {
    id: 'tasks',
    title: 'Scheduled tasks',
    total: null,
    rows: items.map((task) => taskRow(task, time)),
    head: (width) => {
      const { names, rest } = taskColumns(width)
      const line = `${padEnd('task', names)}   ${padEnd('status', 10)}${padStart('next', 14)}`
      return [span(rest < lastCells ? line : `${line}${padEnd('  last run', lastCells)}  result`)]
    },
    empty: 'No tasks.',
  }
}

function taskRow(task: ScheduledTask, time: number): Row {
  const { name, status, nextExecution, lastExecution, runInterval, result, error } = task
  const next = nextExecution === null ? null : Date.parse(nextExecution)
  const late = next !== null && status === 'scheduled' && time - next >= lateAfter
  const facts = known([
    ['Status', status],
    [
      'Next',
      nextExecution === null
        ? 'not scheduled'
        : `${nextExecution.slice(0, 16).replace('T', ' ')} UTC, ${inWords(next, time)}`,
    ],
    ['Last', lastExecution === null ? 'never' : moment(lastExecution, time)],
    ['Interval', shortSpan(runInterval)],
    ['Result', result],
    ['Error', error],
    ['Run now', `pagecache scheduled-task:run-single ${name}`],
  ])
  return {
    id: name,
    line: (width) => taskLine(task, { next, late, time }, width),
    text: `${name} ${status} ${error ?? ''}`,
    status: null,
    ms: null,
    bad: status === 'failed' || late,
    detail: { title: name, url: null, facts },
  }
}

function taskLine(
  { name, status, lastExecution, result, error }: ScheduledTask,
  { next, late, time }: { next: number | null; late: boolean; time: number },
  width: number,
): Line {
  const { sign, tone } = states[status]
  const { names, rest } = taskColumns(width)
  const parts: Line = [
    span(padEnd(cutMiddle(name, names), names)),
    span(` ${sign} `, tone),
    span(padEnd(status, 10), tone),
    span(padStart(inWords(next, time), 14), late ? 'warn' : 'plain'),
  ]
  if (rest < lastCells) return parts
  const last = `  last ${lastExecution === null ? 'never' : ago(Date.parse(lastExecution), time)}`
  return [
    ...parts,
    span(padEnd(last, lastCells), 'dim'),
    span(padEnd(`  ${error ?? result ?? ''}`, Math.max(2, rest - lastCells)), error === null ? 'dim' : 'bad'),
  ]
}

/** Cells of the names, and what the columns that are always shown leave. */
function taskColumns(width: number) {
  const names = Math.min(nameCells, Math.max(24, width - 27))
  return { names, rest: width - names - 27 }
}

/** `in 3 h`, `now`, `5 min late`. */
function inWords(next: number | null, time: number): string {
  if (next === null) return '-'
  const seconds = (next - time) / 1000
  if (seconds > 1) return `in ${shortSpan(seconds)}`
  return seconds > -60 ? 'now' : `${shortSpan(-seconds)} late`
}
