import { expect, it } from 'vitest'
import { completeValues } from '../../src/cli/completion-values.ts'
import { findNamed, stageKind } from '../../src/cli/find.ts'
import { uuidv7 } from '../../src/lib/uuid.ts'
import { createStage } from '../../src/operations/stages.ts'
import type { Performer } from '../../src/operations/operation.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { openApp } from '../operations/pages-project.ts'
import { perform } from '../operations/perform.ts'

it('finds and completes names among more than a thousand stages', async () => {
  const app = await openApp(await tempDir())
  const { stage } = await perform(app, createStage, { name: 'Sale' })
  const { db, now } = await app.records()
  const row = await db.selectFrom('vendor_stage').selectAll().where('id', '=', stage.id).executeTakeFirstOrThrow()
  const rows = Array.from({ length: 1100 }, (_, index) => ({ ...row, id: uuidv7(now()), name: `Copy-${index}` }))
  for (let first = 0; first < rows.length; first += 100)
    await db
      .insertInto('vendor_stage')
      .values(rows.slice(first, first + 100))
      .execute()
  const performer = { perform: (operation, input) => perform(app, operation, input) } as Performer
  for (const { id, name } of [rows[0]!, rows.at(-1)!]) {
    expect(await findNamed(performer, stageKind, name)).toEqual({ id, name })
    const offer = { value: name, description: id }
    expect(await completeValues({ performer, app }, 'stages', name)).toContainEqual(offer)
  }
  expect(await completeValues({ performer, app }, 'stages', 'Copy')).toHaveLength(200)
})
