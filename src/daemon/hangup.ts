/**
 * SIGHUP asks for a reload; where a terminal is closed it ends the daemon as it ends every program. From the first moment on: until
 * somebody listens the signal ends a process, and a service manager does not know when we are ready.
 */
export class Hangup {
  #asked = false
  #reload: (() => Promise<void>) | null = null
  readonly #listener = () => {
    if (this.#reload === null) this.#asked = true
    else void this.#reload()
  }

  /** @param terminal whether the end of a terminal is meant */
  constructor(terminal: boolean) {
    if (!terminal) process.on('SIGHUP', this.#listener)
  }

  /** What a reload is, from now on; one that was asked for before is made up for. */
  follow(reload: () => Promise<void>): void {
    this.#reload = reload
    if (this.#asked) void reload()
  }

  release(): void {
    process.off('SIGHUP', this.#listener)
  }
}
