import { describePageStore } from './page-store.suite.ts'
import { openPages } from './pages.ts'

describePageStore('filesystem', async (options = {}) => (await openPages(options)).pages)
describePageStore(
  'filesystem with a writer thread',
  async (options = {}) => (await openPages({ ...options, writer: true })).pages,
)
