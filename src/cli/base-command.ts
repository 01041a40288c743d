import { Command } from '@oclif/core/command'
import type { Input as ParserInput, ParserOutput } from '@oclif/core/parser'
import { App } from '../app.ts'
import { loadConfig, type ConfigFlags, type LoadedConfig } from '../config/load.ts'
import { findRemote, type RemoteFlags, type RemoteTarget } from '../config/remote.ts'
import { PagecacheError } from '../errors.ts'
import {
  allScopes,
  performOperation,
  type Given,
  type Operation,
  type OperationContext,
  type OperationEvent,
  type Performer,
  type Schema,
} from '../operations/operation.ts'
import { exitCodes } from './exit-codes.ts'
import { sharedFlags } from './flags.ts'
import { namedAsTyped, type CommandInput } from './input-names.ts'
import { interruptible } from './interrupt.ts'
import { Output } from './output.ts'
import { toUsageError } from './usage-error.ts'

/** Lines that wait for the end of a screen. */
const mostHeld = 20

/** What every command shares: parse, perform one operation, present its value. */
export abstract class BaseCommand extends Command {
  static override enableJsonFlag = true
  static override baseFlags = sharedFlags
  /** Every exit code that the command can end with; the manifest carries it. docs/commands.md says what each means. */
  static exitCodes: readonly number[] = exitCodes.usual
  /** Fields of the operation whose flag or argument has another name, for messages. */
  static fieldNames: Readonly<Record<string, string>> = {}

  #given: ConfigFlags = {}
  #held: string[] | null = null
  #remote: RemoteFlags = {}
  #quiet = false
  #mayAsk = true

  /** Values of the configuration that the command's own flags set. */
  protected configValues: NonNullable<ConfigFlags['values']> = []

  protected override async parse<F extends Shape, B extends Shape, A extends Shape>(
    options?: ParserInput<F, B, A>,
    argv?: string[],
  ): Promise<ParserOutput<F, B, A>> {
    const parsed = await super.parse(options, argv).catch((error: unknown) => {
      const { flags: own, args } = this.#declared()
      throw toUsageError(error, {
        id: this.id ?? '',
        flags: ['json', 'help', ...Object.keys({ ...sharedFlags, ...own })],
        args,
      })
    })
    const flags = parsed.flags as Record<string, string | undefined>
    this.#given = { env: flags['env'], projectDir: flags['project-dir'], config: flags['config'] }
    this.#remote = { server: flags['server'], profile: flags['profile'] }
    this.#quiet = parsed.flags['quiet'] === true
    this.#mayAsk = parsed.flags['no-interaction'] !== true
    return parsed
  }

  /** True in commands that help with a broken configuration, and so must run with one. */
  protected tolerateFaults = false

  /** What the command line says about the configuration. */
  protected get given(): ConfigFlags {
    return { ...this.#given, values: this.configValues }
  }

  /**
   * Runs one operation, here or on the daemon that `--server` names, and gives its value to the presenter, unless `--json`
   * prints it as it is. The app is closed before anything is printed: what the operator reads as done is done.
   */
  protected async perform<Input extends Schema, Value>(
    operation: Operation<Input, Value>,
    input: Given<Input>,
    present: (value: Value, output: Output) => void | Promise<void>,
  ): Promise<Value> {
    const value = await this.performing((performer) => performer.perform(operation, input))
    if (hasWarning(value)) this.tell(`Warning: ${value.warning}`)
    if (!this.jsonEnabled() && !this.#quiet) await present(value, new Output())
    return value
  }

  /**
   * The same for commands of several operations, such as those that wait or watch. `app` is null where they run on a daemon:
   * what needs the app (working the queue, say) is done there then.
   */
  protected async performing<T>(
    work: (performer: Performer, app: App | null, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const target = await this.remote()
    if (target !== null) return this.#performingAt(target, work)
    return this.withApp((app) => {
      const context = this.contextOf(app)
      return work({ perform: (operation, input) => performOperation(operation, context, input) }, app, app.signal)
    })
  }

  async #performingAt<T>(
    target: RemoteTarget,
    work: (performer: Performer, app: null, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { openRemote } = await import('../remote/remote.ts')
    return interruptible(async (signal) => {
      const remote = await openRemote(target, {
        signal,
        report: (event) => this.report(event),
        onWarning: (message) => this.tell(message),
      })
      try {
        return await work(remote, null, signal)
      } catch (error) {
        throw signal.aborted ? new PagecacheError('INTERRUPTED', 'Interrupted.', { cause: error }) : error
      } finally {
        await remote.close()
      }
    })
  }

  /** The daemon that the command runs on, to be named in questions; null where it runs here. */
  protected remote(): Promise<RemoteTarget | null> {
    return findRemote(this.#remote, this.#given)
  }

  /** Asks before what cannot be undone, and names the daemon that it would be done on. @throws USAGE, INTERRUPTED */
  protected async confirm(question: string, yes: boolean): Promise<void> {
    const { confirm } = await import('./confirm.ts')
    await confirm((await this.#where()) + question, { yes, mayAsk: this.#mayAsk })
  }

  protected async choose<const Choice extends string>(
    question: string,
    choices: readonly [Choice, ...Choice[]],
    yes: boolean,
  ): Promise<Choice> {
    const { choose } = await import('./confirm.ts')
    return await choose((await this.#where()) + question, choices, yes)
  }

  /** What a question about another machine begins with. */
  async #where(): Promise<string> {
    const target = await this.remote()
    return target === null
      ? ''
      : `On ${target.name === target.server ? target.name : `${target.name} (${target.server})`}: `
  }

  /** What operations of the command line work with. */
  protected contextOf(app: App): OperationContext {
    return {
      app,
      source: 'cli',
      actor: null,
      scopes: allScopes,
      signal: app.signal,
      report: (event) => this.report(event),
    }
  }

  /**
   * Opens the app for what is done on this machine, and closes it whatever happens. An interrupted run is exit 130.
   *
   * @throws USAGE where the operator means another machine
   */
  protected async withApp<T>(work: (app: App) => Promise<T>): Promise<T> {
    await this.#assertHere()
    const loaded = await this.load()
    const app = new App({ loaded, onWarning: (message) => this.tell(message) })
    app.ownSignals()
    try {
      return await work(app)
    } catch (error) {
      throw app.signal.aborted ? new PagecacheError('INTERRUPTED', 'Interrupted.', { cause: error }) : error
    } finally {
      await app.close()
    }
  }

  /** The configuration that the app is opened with. @throws CONFIG_INVALID */
  protected load(): Promise<LoadedConfig> {
    return loadConfig(this.given, { tolerateFaults: this.tolerateFaults })
  }

  async #assertHere(): Promise<void> {
    const target = await this.remote()
    if (target === null) return
    throw new PagecacheError(
      'USAGE',
      `${this.id ?? 'This command'} works on this machine alone, and ${target.name} is another.`,
      {
        hint: 'Leave out --server and --profile, and unset PAGECACHE_SERVER and PAGECACHE_PROFILE.',
      },
    )
  }

  /** How the command tells what an operation reports while it works; commands with progress override it. */
  protected report(event: OperationEvent): void {
    if (event.kind === 'message') this.tell(event.message)
  }

  /** A line for the operator: stderr, with `--json` too, so that stdout stays the value alone. */
  protected tell(message: string): void {
    if (this.#quiet) return
    if (this.#held) this.#held.push(message)
    else process.stderr.write(`${message}\n`)
  }

  /** While a screen is drawn, lines for the operator wait until it is gone; only the latest ones are kept. */
  protected async holding<T>(work: () => Promise<T>): Promise<T> {
    this.#held = []
    try {
      return await work()
    } finally {
      const lines = [...new Set(this.#held)].slice(-mostHeld)
      this.#held = null
      for (const line of lines) this.tell(line)
    }
  }

  /** Where operations run, in a few words: the daemon's name, or the environment and its directory. */
  protected async sourceName(app: App | null): Promise<string> {
    if (app !== null) return `${app.loaded.environment} ${app.loaded.places.projectDir}`
    return (await this.remote())?.name ?? ''
  }

  /** Errors are printed in one place, src/cli/main.ts, in the same form for every command; here their fields get the names of flags. */
  protected override async catch(error: Error): Promise<never> {
    if (!(error instanceof PagecacheError) || error.code !== 'INVALID_INPUT') throw error
    const message = namedAsTyped(error.message, this.#declared())
    throw new PagecacheError(error.code, message, {
      cause: error.cause,
      ...(error.hint !== null && { hint: error.hint }),
    })
  }

  /** What the class says that it takes; a class without flags or arguments leaves them undefined. */
  #declared(): CommandInput {
    const { flags = {}, args = {}, fieldNames = {} } = this.ctor as unknown as Partial<CommandInput>
    return { flags, args, fieldNames }
  }
}

function hasWarning(value: unknown): value is { warning: string } {
  return typeof value === 'object' && value !== null && 'warning' in value && typeof value.warning === 'string'
}

// oxlint-disable-next-line typescript/no-explicit-any -- what oclif's own signature asks for
type Shape = Record<string, any>
