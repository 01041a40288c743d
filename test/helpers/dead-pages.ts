import { onTestFinished, vi } from 'vitest'
import { BodyFiles } from '../../src/pages/body-files.ts'
import { placesIn } from '../../src/pages/places.ts'
import { SharedIndex } from '../../src/pages/shared-index.ts'
import { accepted, bodyOf, draft, openPages } from '../stores/pages.ts'

/** A store of dead pages with a file each, on a disk that takes 3 ms to remove one. The clock stands still otherwise; `pass` sets it forward. */
export async function openDeadPages(count: number) {
  const { pages, directory } = await openPages()
  const fence = pages.fence()
  for (let n = 0; n < count; n += 1) accepted(await pages.put(draft(`page ${n}`), bodyOf('a body'), fence))
  const ids = (await pages.list({ offset: 0, limit: count })).items.map(({ id }) => id)
  await pages.close()
  const places = placesIn(directory)
  const shared = new SharedIndex({ places, onWarning: () => {}, patience: 50, known: null })
  onTestFinished(() => shared.close())
  await shared.write((index) => index.write(() => index.writes.kill(ids)))
  let time = performance.now()
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => time)
  onTestFinished(() => clock.mockRestore())
  class SlowDisk extends BodyFiles {
    override removeNow(file: string): void {
      super.removeNow(file)
      time += 3
    }
  }
  return { places, directory, shared, bodies: new SlowDisk(places), pass: (ms: number) => (time += ms) }
}
