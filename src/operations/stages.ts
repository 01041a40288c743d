import * as z from 'zod/mini'
import { count, described, id, limit, offset, succeeded, success, uuid } from './fields.ts'
import { defineOperation, type OperationContext } from './operation.ts'
import { stageChange, stageName, stageSettings, stageValue, givenFields } from './stage-fields.ts'

const stageId = id('expected the id of a stage')
const eventCounts = { impression: count, cta_click: count, close: count, permanent_dismiss: count }
const stageOutput = z.object({ success, stage: stageValue })

/** The configured sales channels, to validate `salesChannelId`. */
function channelsOf({ app }: OperationContext) {
  return app.config.salesChannels.map(({ id, name, url }) => ({ id, name, url }))
}

export const createStage = defineOperation({
  name: 'stage.create',
  summary: 'Creates a popup stage',
  input: stageSettings,
  output: stageOutput,
  http: { prefix: 'vendor-stage', method: 'POST', path: '/stages' },
  async run(context, input) {
    const stages = await import('../stages/stages.ts')
    const stage = await stages.createStage(await context.app.records(), channelsOf(context), input)
    await noteForeignImage(context, stage)
    return { ...succeeded, stage }
  },
})

export const listStages = defineOperation({
  name: 'stage.list',
  summary: 'Lists the popup stages, oldest first',
  input: z.object({ limit, offset }),
  output: z.object({ success, total: count, items: z.array(stageValue) }),
  http: { prefix: 'vendor-stage', method: 'GET', path: '/stages' },
  async run({ app }, input) {
    const stages = await import('../stages/stages.ts')
    return { ...succeeded, ...(await stages.listStages(await app.records(), input)) }
  },
})

export const showStage = defineOperation({
  name: 'stage.show',
  summary: 'Shows a popup stage',
  input: z.object({ id: stageId }),
  output: stageOutput,
  http: { prefix: 'vendor-stage', method: 'GET', path: '/stages/{id}' },
  async run({ app }, { id }) {
    const stages = await import('../stages/stages.ts')
    return { ...succeeded, stage: await stages.readStage(await app.records(), id) }
  },
})

export const updateStage = defineOperation({
  name: 'stage.update',
  summary: 'Changes the given settings of a popup stage',
  input: z.extend(stageChange, { id: stageId }),
  output: stageOutput,
  http: { prefix: 'vendor-stage', method: 'PATCH', path: '/stages/{id}' },
  async run(context, { id, content, look, trigger, ...settings }) {
    const stages = await import('../stages/stages.ts')
    const change = {
      ...givenFields(settings),
      ...(content === undefined ? {} : { content: givenFields(content) }),
      ...(look === undefined ? {} : { look: givenFields(look) }),
      ...(trigger === undefined ? {} : { trigger: givenFields(trigger) }),
    }
    const stage = await stages.updateStage(await context.app.records(), channelsOf(context), id, change)
    if (look?.image !== undefined) await noteForeignImage(context, stage)
    return { ...succeeded, stage }
  },
})

/** Says that an image of another host needs the permission of the shop's pages. */
async function noteForeignImage(context: OperationContext, { look }: StageValue): Promise<void> {
  const [{ foreignOrigin }, { originsOf }] = await Promise.all([
    import('../stages/look.ts'),
    import('../stages/stages.ts'),
  ])
  const origin = foreignOrigin(look.image, originsOf(channelsOf(context)))
  if (origin === null) return
  const message = `The image is on ${origin}: a Content-Security-Policy of the shop must allow it in img-src, and ${origin} sees the address of each visitor.`
  context.report({ kind: 'message', message })
}

export const duplicateStage = defineOperation({
  name: 'stage.duplicate',
  summary: 'Copies a popup stage; the copy is not active',
  input: z.object({
    id: stageId,
    name: described(z.optional(z.nullable(stageName)), 'name of the copy; default: Copy of and the name'),
  }),
  output: stageOutput,
  http: { prefix: 'vendor-stage', method: 'POST', path: '/stages/{id}/duplicate' },
  async run(context, { id, name }) {
    const stages = await import('../stages/stages.ts')
    return { ...succeeded, stage: await stages.duplicateStage(await context.app.records(), id, name ?? null) }
  },
})

export const previewStage = defineOperation({
  name: 'stage.preview',
  summary: 'Makes links that show a popup stage on pages of the shop, without counting',
  input: z.object({
    id: stageId,
    path: described(
      z._default(z.string({ error: 'expected a path that begins with /' }), '/'),
      'page of the shop that shows it',
    ),
  }),
  output: z.object({
    success,
    expiresAt: z.iso.datetime(),
    links: z.array(z.object({ salesChannelId: z.string(), name: z.string(), url: z.string() })),
  }),
  http: { prefix: 'vendor-stage', method: 'POST', path: '/stages/{id}/preview' },
  scope: 'read',
  /** @throws NOT_FOUND (stage, or no sales channel), INVALID_INPUT */
  async run(context, { id, path }) {
    const { app, actor } = context
    const [{ readStage }, { previewLinks }, { openPreviews }] = await Promise.all([
      import('../stages/stages.ts'),
      import('../stages/preview-links.ts'),
      import('../auth/previews.ts'),
    ])
    const { salesChannelId } = await readStage(await app.records(), id)
    const channels = channelsOf(context).filter((channel) => salesChannelId === null || channel.id === salesChannelId)
    // A shop that issues the tokens has its own users.
    const client = app.config.auth.mode === 'builtin' ? actor : null
    const { token, expiresAt } = await (await openPreviews(app)).sign(id, client)
    return { ...succeeded, expiresAt: new Date(expiresAt).toISOString(), links: previewLinks(channels, path, token) }
  },
})

export const deleteStage = defineOperation({
  name: 'stage.delete',
  summary: 'Deletes a popup stage, and keeps or removes its events',
  input: z.object({
    id: stageId,
    events: z._default(z.enum(['keep', 'remove'], { error: 'expected keep or remove' }), 'keep'),
  }),
  output: z.object({
    success,
    stage: stageValue,
    mode: z.enum(['keep', 'remove']),
    events: described(count, 'number of events kept or removed'),
  }),
  http: { prefix: 'vendor-stage', method: 'DELETE', path: '/stages/{id}' },
  async run({ app }, { id, events: mode }) {
    const stages = await import('../stages/delete-stage.ts')
    return { ...succeeded, mode, ...(await stages.deleteStage(await app.records(), id, mode)) }
  },
})

export const stageStatistics = defineOperation({
  name: 'stage.stats',
  summary: 'Shows the statistics of a popup stage: totals, rates and a time series',
  input: z.object({
    popupId: uuid('expected the id of a stage, a UUID'),
    dateFrom: z._default(z.nullable(z.string({ error: 'expected a date such as 2026-11-21' })), null),
    dateTo: z._default(z.nullable(z.string({ error: 'expected a date such as 2026-11-21' })), null),
  }),
  output: z.object({
    success,
    popupId: z.string(),
    dateFrom: z.string(),
    dateTo: described(z.string(), 'UTC, inclusive'),
    totals: z.object(eventCounts),
    rates: described(
      z.object({ ctr: z.number(), closeRate: z.number(), dismissRate: z.number() }),
      'fraction of impressions, 0 to 1',
    ),
    bucket: z.enum(['hour', 'day', 'week', 'month']),
    series: z.array(z.object({ date: z.string(), ...eventCounts })),
  }),
  http: { prefix: 'vendor-stage', method: 'POST', path: '/stats' },
  scope: 'read',
  async run({ app }, input) {
    const { readStatistics } = await import('../stages/statistics.ts')
    return { ...succeeded, ...(await readStatistics(await app.records(), input)) }
  },
})

export type StageValue = z.output<typeof stageValue>
export type StagePreviewValue = z.output<typeof previewStage.output>
export type StageStatisticsValue = z.output<typeof stageStatistics.output>

export const deleteCustomer = defineOperation({
  name: 'customer.delete',
  summary: 'Erases a customer from the events of all popup stages',
  input: z.object({
    customerId: id('expected the id of a customer').check(z.maxLength(64, { error: 'expected at most 64 characters' })),
  }),
  output: z.object({
    success,
    events: described(count, 'number of events of the customer'),
    mode: described(z.enum(['remove', 'anonymize']), 'what happened to them'),
  }),
  http: { prefix: 'vendor-stage', method: 'POST', path: '/customer/delete' },
  async run({ app, report }, { customerId }) {
    const { eraseCustomer } = await import('../stages/erase-customer.ts')
    const mode = app.config.stages.customerDeletion
    const { events, logEmptied } = await eraseCustomer(await app.records(), customerId, mode)
    if (!logEmptied)
      report({
        kind: 'message',
        message:
          'The events are erased, but the write-ahead log is in use by another process and may still contain the customer id. The nightly task vendor_stage.prune_events empties it; so does running customer:delete again.',
      })
    return { ...succeeded, events, mode }
  },
})
