import { expect, it } from 'vitest'
import { HintedPause } from '../../src/cluster/hinted-pause.ts'

/** Longer than any test. */
const forever = 2 ** 30

it('a hint ends the pause, or the next one if it comes in between', async () => {
  const pause = new HintedPause()
  const first = pause.wait(forever)
  pause.hint()
  await first
  pause.hint()
  pause.hint()
  await pause.wait(forever)

  // Both hints were about the same step.
  let isOver = false
  const last = pause.wait(forever).then(() => (isOver = true))
  await new Promise((resolve) => setImmediate(resolve))
  expect(isOver).toBe(false)
  pause.hint()
  await last
  await pause.wait(1)
})
