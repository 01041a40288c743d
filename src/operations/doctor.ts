import * as z from 'zod/mini'
import { described } from './fields.ts'
import { warned, type Check } from './doctor/finding.ts'
import { checkChannelPorts } from './doctor/channel-port-check.ts'
import { checkCustomerToken } from './doctor/customer-token-check.ts'
import { checkErrorPage } from './doctor/error-page-check.ts'
import { checkChannels, checkPort } from './doctor/network-checks.ts'
import {
  checkConfiguration,
  checkDaemon,
  checkNode,
  checkOpenFiles,
  checkTlsTerminator,
  checkVariables,
} from './doctor/process-checks.ts'
import { checkNotifications } from './doctor/notify-check.ts'
import { checkPostgres } from './doctor/postgres-check.ts'
import { checkQueue } from './doctor/queue-checks.ts'
import { checkSharedPages } from './doctor/shared-pages-check.ts'
import { checkReverseProxies } from './doctor/reverse-proxy-checks.ts'
import { checkTasks } from './doctor/task-checks.ts'
import { checkDirectories, checkDisk, checkPages, checkPageSpace, checkRecords } from './doctor/storage-checks.ts'
import { defineOperation } from './operation.ts'

/** In display order: fundamental problems first. */
const checks: readonly Check[] = [
  checkNode,
  checkConfiguration,
  checkVariables,
  checkDirectories,
  checkDisk,
  checkOpenFiles,
]

/** Checks that depend on the configuration. If it is invalid, they would examine the defaults instead. */
const configuredChecks: readonly Check[] = [
  checkDaemon,
  checkRecords,
  checkPostgres,
  checkPages,
  checkPageSpace,
  checkQueue,
  checkTasks,
  checkNotifications,
  checkPort,
  checkTlsTerminator,
  checkCustomerToken,
  checkErrorPage,
  checkChannelPorts,
  checkChannels,
  checkReverseProxies,
  checkSharedPages,
]

const skipped = warned(
  'not checked',
  'Records, pages, queue, tasks, port, sales channels and reverse proxies: they depend on the configuration.',
  'Correct the configuration, then run pagecache doctor again.',
)

export const doctor = defineOperation({
  name: 'doctor',
  summary: 'Diagnoses configuration, storage and network problems',
  input: z.object({}),
  output: z.object({
    success: described(z.boolean(), 'false if a check failed'),
    checks: z.array(
      z.object({
        name: z.string(),
        status: z.enum(['passed', 'warned', 'failed']),
        message: z.string(),
        remedy: z.nullable(z.string()),
      }),
    ),
  }),
  http: { method: 'GET', path: '/doctor' },
  async run({ app, signal }) {
    const isValid = app.loaded.fault === null
    const due = isValid ? [...checks, ...configuredChecks] : checks
    const findings = (await Promise.all(due.map((check) => check(app, signal)))).flat()
    if (!isValid) findings.push(skipped)
    return { success: findings.every((finding) => finding.status !== 'failed'), checks: findings }
  },
})
