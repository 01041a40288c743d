/** What works on the machine alone on which it is typed, and says so. */
export const here = new Set([
  'demo',
  'init',
  'messenger:consume',
  'profile:use',
  'records:migrate',
  'scheduled-task:run',
  'serve',
])

/** What can be done elsewhere in one way: these runs alone are compared. */
export const sometimes: Record<string, string[][]> = {
  'scheduled-task:run': [['--no-wait'], ['--no-wait', '--json'], ['--no-wait', '--time-limit', 'x']],
}

/** What performs no operation and says the same everywhere. */
export const nowhere = new Set(['completion', 'completion:values'])

/** Which daemons and directories there are differs between two machines: here the exit code is compared, and the names of what is told. */
export const ofMachine = new Set(['config:show', 'doctor', 'monitor', 'messenger:stats', 'status'])

const stage = '0190c0de-0000-7000-8000-00000000000f'

export const page = 'http://shop.example/one'

/** How each command is run, beside the run without any argument. They run in this order, and each on what the ones before have left. */
export const lines: Record<string, string[][]> = {
  'warmup:start': [
    ['--dry-run'],
    ['--batch-size', '0'],
    ['--concurrency', '257'],
    ['--sales-channel', stage],
    ['--wait', '--allow-failures', '--json'],
    ['--wait'],
    ['--wait', '--force', '--json'],
  ],
  'warmup:progress': [['nothing']],
  'warmup:pause': [['nothing']],
  'warmup:concurrency': [['0'], ['3', 'nothing'], ['default', stage]],
  'warmup:failures': [['nothing']],
  'warmup:watch': [['--no-tui'], ['nothing', '--json']],
  monitor: [['--json']],
  'cache:list': [
    ['--json'],
    ['--limit', '1'],
    ['--limit', '0'],
    ['--limit', '1001'],
    ['--offset', '-1'],
    ['--type', 'products'],
    ['--type', 'nothing'],
    ['--prefix', 'http://shop.example/o'],
  ],
  'cache:traffic': [
    ['--json', '--type', 'nothing'],
    ['--since', 'never'],
    ['--since', '500d'],
    ['--by', 'result'],
  ],
  top: [
    ['--limit', '0'],
    ['--result', 'nothing'],
    ['--path', 'x'.repeat(201)],
  ],
  'cache:inspect': [[page], [page, '--json'], ['nothing'], ['http://other.example/']],
  'purge:url': [[page, '--dry-run'], [page], [page, '--json']],
  'purge:tag': [['tag-one'], ['tag-one', '--json'], ['--json', ' ']],
  'purge:entity': [
    ['product', '0190c0de000070008000000000000001'],
    ['nothing', 'x'],
  ],
  'reverse-proxy:recent': [['--json'], ['--limit', '0']],
  'reverse-proxy:url-flow': [[page], [page, '--json']],
  'reverse-proxy:entity-timeline': [
    ['product', '0190c0de000070008000000000000001', '--json'],
    ['nothing', 'x'],
  ],
  'reverse-proxy:clear': [['--yes'], ['--yes', '--json']],
  'invalidation-log:recent': [['--limit', '2']],
  'invalidation-log:clear': [['--yes']],
  'vendor:cache:clear': [['--dry-run'], ['--type', 'cms'], ['--type', 'nothing'], ['--json']],
  'cache:clear': [['--dry-run']],
  'stage:show': [[stage], [stage, '--json']],
  'stage:update': [[stage, '--name', 'x']],
  'stage:delete': [[stage, '--yes']],
  'stage:stats': [[stage], [stage, '--from', 'yesterday']],
  'stage:duplicate': [[stage], ['nothing', '--name', 'x']],
  'stage:preview': [[stage], [stage, '--path', 'shoes']],
  'stage:create': [['Summer', '--json'], ['--json']],
  'customer:delete': [['customer-1', '--yes']],
  'scheduled-task:schedule': [['vendor_cache.cleanup_pages'], ['nothing']],
  'scheduled-task:deactivate': [['nothing']],
  'scheduled-task:run-single': [['vendor_cache.cleanup_pages', '--json'], ['nothing']],
  // Each daemon has one client of its own before these, and `{client}` stands for its id.
  'client:create': [['reader', '--scope', 'read'], ['writer', '--json'], ['other', '--scope', 'all'], [' \u0007']],
  'client:revoke': [['{client}'], ['{client}', '--yes'], ['{client}', '--yes', '--json'], ['nothing', '--yes']],
  'client:list': [['--json'], ['--limit', '2'], ['--offset', '-1']],
  'client:rotate-key': [['--json'], ['--drop-old'], ['--drop-old', '--yes']],
  'messenger:failed:show': [['nothing']],
  'messenger:failed:retry': [['nothing'], ['--yes']],
  'messenger:failed:remove': [
    ['nothing', '--yes'],
    ['--all', '--yes'],
  ],
}

/** A command that watches goes on until it is interrupted: off a terminal that is not what is compared. */
export const endless = new Set(['monitor', 'top'])
