import { overviewTab } from './overview-tab/tab.ts'
import { purgesTab } from './purges-tab/tab.ts'
import { queueTab } from './queue-tab/tab.ts'
import type { Tab } from './tab.ts'
import { tasksTab } from './tasks-tab/tab.ts'
import { warmupTab } from './warmup-tab/tab.ts'

/** What `monitor` shows, from left to right. */
export const monitorTabs: readonly Tab[] = [overviewTab, warmupTab(null), purgesTab, queueTab, tasksTab]
