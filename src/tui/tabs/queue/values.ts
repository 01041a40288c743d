import type { listFailedMessages } from '../../../operations/messenger.ts'

/** What `messenger.failed` answers. */
export type FailedMessages = Awaited<ReturnType<typeof listFailedMessages.run>>
