import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fieldLines } from '../../src/cache/fields.ts'
import type { Case, Step } from './cases/case.ts'
import { allCases } from './cases/all.ts'
import type { Reply } from './scripted-origin.ts'
import { noon, openSite, shopUrl, type Seen, type Site } from './site.ts'
import { until } from '../helpers/until.ts'

it('case ids are unique', () => {
  expect(new Set(allCases.map((each) => each.id)).size).toBe(allCases.length)
})

describe.each([
  { from: 'memory', memory: 16 << 20 },
  { from: 'disk', memory: 0 },
])('pages from $from', ({ memory }) => {
  let site: Site
  beforeAll(async () => {
    site = await openSite({ memory })
  })
  afterAll(() => site.close())

  for (const [rfc, cases] of Map.groupBy(allCases, (each) => each.rfc)) {
    describe(`RFC ${rfc}`, () => {
      it.each(cases)('$id ($level): $says', (each) => run(site, each))
    })
  }
})

async function run(site: Site, each: Case): Promise<void> {
  site.setTime(noon)
  site.origin.requests.length = 0
  const path = `/${each.id}`
  const bodies: string[] = []
  let asked = 0
  for (const [index, step] of each.steps.entries()) {
    site.wait(step.wait ?? 0)
    const reply: Reply = { body: `${each.id}, body ${index}`, ...step.reply }
    bodies.push(String(reply.body))
    site.answers(reply)
    const answer = await ask(site, path + (step.target ?? ''), step)
    asked += step.asked
    const where = `step ${index + 1}`
    if (step.background) await untilStored(site, path + (step.target ?? ''), asked, step)
    expect(site.origin.requests.length, `${where}: requests that reached the origin`).toBe(asked)
    const last = site.origin.requests.at(-1)
    for (const [name, value] of Object.entries(step.sent ?? {}))
      expect(last?.fields.get(name.toLowerCase()) ?? null, `${where}: ${name} at the origin`).toBe(value)
    expect(answer === null, `${where}: breaks off`).toBe(step.fails === true)
    if (answer !== null) check(answer, step, bodies, where)
  }
  expect(site.origin.requests.length).toBe(asked)
  expect(site.faults).toEqual([])
}

async function ask(site: Site, target: string, step: Step): Promise<Seen | null> {
  const { method = 'GET', send = {}, requestBody } = step
  const visit = site.visit(target, {
    method,
    fields: send,
    ...(requestBody === undefined ? {} : { body: requestBody }),
  })
  return step.fails ? visit.catch(() => null) : visit
}

/** Waits for a background revalidation: it has ended when the store has its result. */
async function untilStored(site: Site, target: string, asked: number, step: Step): Promise<void> {
  await until(() => expect(site.origin.requests.length).toBe(asked))
  const status = step.reply?.status ?? 200
  if (status !== 200 && status !== 304) return
  await until(() => expect(site.store.findByUrl(shopUrl + target).map((page) => page.cachedAt)).toContain(site.now()))
}

function check(answer: Seen, step: Step, bodies: readonly string[], where: string): void {
  expect(answer.status, `${where}: status`).toBe(step.status ?? 200)
  for (const [name, value] of Object.entries(step.fields ?? {})) {
    const actual = answer.field(name)
    if (value instanceof RegExp) expect(actual ?? '', `${where}: ${name}`).toMatch(value)
    else expect(actual, `${where}: ${name}`).toBe(value)
  }
  const bodiless = step.method === 'HEAD' || [204, 304].includes(answer.status)
  const body = bodiless ? 'none' : (step.body ?? (step.asked > 0 ? 'new' : 0))
  if (body === 'none') expect(answer.text, `${where}: body`).toBe('')
  else if (typeof body === 'object') expect(answer.text, `${where}: body`).toBe(body.text)
  else expect(answer.text, `${where}: body`).toBe(body === 'new' ? bodies.at(-1) : bodies[body])
  if (step.interim !== undefined)
    expect(
      answer.interim.map(({ status }) => status),
      `${where}: interim responses`,
    ).toEqual(step.interim)
  // A response has a single Age (RFC 9111 §5.1).
  expect(fieldLines(answer.headers, 'age').length, `${where}: lines of Age`).toBeLessThanOrEqual(1)
}
