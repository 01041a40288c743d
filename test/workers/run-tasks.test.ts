import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { readTasks } from '../../src/schedule/scheduled-tasks.ts'
import type { Task } from '../../src/schedule/task.ts'
import { runTask } from '../../src/workers/run-tasks.ts'
import { tasksOf } from '../../src/workers/tasks.ts'
import { openApp } from '../operations/pages-project.ts'
import { tempDir } from '../helpers/temp-dir.ts'

it('a task whose records are lost while it runs ends with that error, and its worker with it', async () => {
  const directory = await tempDir()
  const app = await openApp(directory)
  onTestFinished(() => app.close().catch(() => {}))
  const unhandled: unknown[] = []
  const note = (error: unknown) => unhandled.push(error)
  process.on('unhandledRejection', note)
  onTestFinished(() => void process.off('unhandledRejection', note))
  const data = join(directory, 'var/data/prod')
  const { promise: moved, resolve: finish } = Promise.withResolvers<void>()
  const task: Task = {
    ...tasksOf(app)[0]!,
    run: async () => {
      await rename(data, `${data}.away`)
      await moved
      return { done: true, result: 'done' }
    },
  }
  await readTasks(await app.records(), tasksOf(app), Date.now())
  const ended = runTask(app, task, new AbortController().signal)
  // The worker is still busy when the records turn out to be lost.
  setTimeout(finish, 500)
  await expect(ended).rejects.toMatchObject({ code: 'STORE_LOST' })
  await app.close().catch(() => {})
  await new Promise((resolve) => setTimeout(resolve, 500))
  expect(unhandled).toEqual([])
})
