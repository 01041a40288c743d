import { overviewTab } from './tabs/overview/tab.ts'
import { purgesTab } from './tabs/purges/tab.ts'
import { queueTab } from './tabs/queue/tab.ts'
import type { Tab } from './tab.ts'
import { tasksTab } from './tabs/tasks/tab.ts'
import { warmupTab } from './tabs/warmup/tab.ts'

/** What `monitor` shows, from left to right. */
export const monitorTabs: readonly Tab[] = [overviewTab, warmupTab(null), purgesTab, queueTab, tasksTab]
