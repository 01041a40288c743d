import { Command } from '@oclif/core/command'
import type { Input as ParserInput, ParserOutput } from '@oclif/core/parser'
import { App } from '../app.ts'
import { loadConfig, type ConfigFlags, type LoadedConfig } from '../config/load.ts'
import { compareWithDaemon, findDaemon, withDaemonsFlags } from '../config/running-daemon.ts'
import { assertLocal, describeTarget, findRemote, type RemoteTarget } from '../config/remote.ts'
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
import type { Kind, Named } from './find.ts'
import { sharedFlags, type WatchFlags } from './flags.ts'
import { readGlobalFlags, type GlobalFlags } from './global-flags.ts'
import { withTypedNames, type CommandInput } from './input-names.ts'
import { interruptible } from './interrupt.ts'
import { hasWarning, Messages } from './messages.ts'
import { Output } from './output.ts'
import { beforeChange, describeLoaded, nameOfLoaded, type Session } from './session.ts'
import { TimeLimit } from './time-limit.ts'
import { toUsageError } from './usage-error.ts'

/** Base of every command: parse, perform one operation, present its value. */
export abstract class BaseCommand extends Command {
  static override enableJsonFlag = true
  static override baseFlags = sharedFlags
  /** All exit codes of the command, listed in the manifest and explained in docs/commands.md. */
  static exitCodes: readonly number[] = exitCodes.usual
  /** Input fields whose flag or argument has a different name; used in error messages. */
  static fieldNames: Readonly<Record<string, string>> = {}

  /** Whether the command may migrate a PostgreSQL database that an older version has made. */
  protected mayUpgrade = false

  #global: GlobalFlags = readGlobalFlags({})
  readonly #messages = new Messages()
  #hostNamed = false
  #output = new Output()
  #timeLimit: TimeLimit | null = null

  /** Configuration values set by the command's own flags. */
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
    this.#global = readGlobalFlags(parsed.flags)
    this.#messages.quiet = this.#global.quiet
    this.#messages.debugging = this.#global.debug
    if (this.#global.timeout !== null) this.#timeLimit = new TimeLimit(this.#global.timeout)
    return parsed
  }

  /** True in commands that must run with a broken configuration, because they help to repair it. */
  protected tolerateFaults = false

  /** False in commands that compare their configuration with the running daemon's themselves, or do not act on its pages. */
  protected reportsMismatch = true

  /** The configuration flags of the command line. */
  protected get configFlags(): ConfigFlags {
    return { ...this.#global.config, values: this.configValues }
  }

  /**
   * Runs one operation, here or on the daemon named by `--server`, and passes its value to `present`; with `--json`, oclif prints
   * the value itself. The app is closed before anything is printed, so that reported work is complete.
   */
  protected async perform<Input extends Schema, Value>(
    operation: Operation<Input, Value>,
    input: Given<Input>,
    present: (value: Value, output: Output) => void | Promise<void>,
  ): Promise<Value> {
    const started = performance.now()
    const value = await this.performing(
      ({ performer }) => performer.perform(operation, input),
      operation.http === undefined,
    )
    this.#messages.debug(`${operation.name} took ${Math.round(performance.now() - started)} ms`)
    if (hasWarning(value)) this.tell(`Warning: ${value.warning}`)
    return this.show(value, present)
  }

  protected async show<T>(value: T, present: (value: T, output: Output) => void | Promise<void>): Promise<T> {
    if (!this.silent) await present(value, this.#output)
    return value
  }

  /** Whether no text is printed: with `--json` and `--quiet`. */
  protected get silent(): boolean {
    return this.jsonEnabled() || this.#global.quiet
  }

  /** Performs `work` once, or with `--watch` again and again until interrupted. */
  protected async repeat<T>(flags: WatchFlags, work: () => Promise<T>): Promise<T> {
    if (!flags.watch) return work()
    const { repeat } = await import('./repeat.ts')
    const show = (output: Output) => {
      this.#output = output
      return work()
    }
    return repeat(flags.interval ?? '2s', { show, json: this.jsonEnabled(), tell: (message) => this.tell(message) })
  }

  /**
   * Runs `work` with a session, for commands of several operations: those that wait or watch. What runs `here` ignores the profile chosen
   * with profile:use.
   */
  protected async performing<T>(work: (session: Session) => Promise<T>, here = false): Promise<T> {
    const target = await this.remote(here)
    if (target !== null) return this.#performingAt(target, work)
    return this.withApp((app) => {
      const context = this.contextOf(app)
      const performer: Performer = {
        perform: (operation, input, follower) => performOperation(operation, context, input, follower),
      }
      return work(this.#session(performer, app, app.signal, nameOfLoaded(app.loaded)))
    })
  }

  /** Finds what an argument names: by its id, a unique beginning of it, or its name. @throws INVALID_INPUT where several match */
  protected async find(kind: Kind, given: string): Promise<Named> {
    const { findNamed } = await import('./find.ts')
    return this.performing(({ performer }) => findNamed(performer, kind, given))
  }

  async #performingAt<T>(target: RemoteTarget, work: (session: Session) => Promise<T>): Promise<T> {
    const { openRemote } = await import('../remote/remote.ts')
    this.#messages.debugOnce(`daemon ${describeTarget(target)}`)
    if (target.chosen) this.#nameHost(target)
    return interruptible(async (signal) => {
      const remote = await openRemote(target, {
        signal,
        report: (event) => this.report(event),
        onWarning: (message) => this.tell(message),
      })
      try {
        const performer = beforeChange(remote, () => this.#nameHost(target))
        return await work(this.#session(performer, null, signal, target.name))
      } catch (error) {
        throw signal.aborted ? new PagecacheError('INTERRUPTED', 'Interrupted.', { cause: error }) : error
      } finally {
        await remote.close()
      }
    })
  }

  /** Names the daemon before its first change, unless a question has named it. */
  #nameHost(target: RemoteTarget): void {
    if (!this.#hostNamed) this.tell(`On ${describeTarget(target)}:`)
    this.#hostNamed = true
  }

  #session(performer: Performer, app: App | null, signal: AbortSignal, sourceName: string): Session {
    return {
      performer,
      app,
      signal,
      isTimedOut: () => this.#timeLimit?.passed === true,
      sourceName,
      json: this.jsonEnabled(),
      quiet: this.#global.quiet,
      tell: (message) => this.tell(message),
      hold: (work) => this.#messages.hold(work),
    }
  }

  /** The daemon that the command runs on; null when it runs on this machine. `here`: see `performing`. */
  protected remote(here = false): Promise<RemoteTarget | null> {
    return findRemote(this.#global.remote, this.#global.config, { here })
  }

  /** Asks before an irreversible change, and names the daemon it affects. @throws USAGE, DECLINED, INTERRUPTED */
  protected async confirm(question: string, yes: boolean): Promise<void> {
    const { confirm } = await import('./confirm.ts')
    await confirm((await this.#questionPrefix()) + question, { yes, interactive: this.#global.interactive })
    this.#hostNamed = !yes
  }

  /** Whether somebody is there to answer a question. */
  protected get mayAsk(): boolean {
    return (
      this.#global.interactive && process.stdin.isTTY === true && process.stderr.isTTY === true && !this.jsonEnabled()
    )
  }

  protected async choose<const Choice extends string>(
    question: string,
    choices: readonly [Choice, ...Choice[]],
    options: { yes: boolean; hint?: string },
  ): Promise<Choice> {
    const { choose } = await import('./confirm.ts')
    const text = (await this.#questionPrefix()) + question
    return choose(text, choices, { ...options, interactive: this.#global.interactive })
  }

  /** Prefix of a question about a daemon on another machine. */
  async #questionPrefix(): Promise<string> {
    const target = await this.remote()
    return target === null ? '' : `On ${describeTarget(target)}: `
  }

  /** Context of operations run by the command line, which has full access. */
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
   * Opens the app on this machine, runs `work` and closes the app. An interruption is exit code 130.
   *
   * @throws USAGE when `--server` or a profile names a daemon
   */
  protected async withApp<T>(work: (app: App) => Promise<T>): Promise<T> {
    assertLocal(await this.remote(true), this.id ?? 'This command')
    const { mayUpgrade } = this
    const app = new App({ loaded: await this.load(), onWarning: (message) => this.tell(message), mayUpgrade })
    app.ownSignals()
    try {
      return await work(app)
    } catch (error) {
      throw app.signal.aborted ? new PagecacheError('INTERRUPTED', 'Interrupted.', { cause: error }) : error
    } finally {
      await app.close()
    }
  }

  /**
   * Loads the configuration of the app, with the flags of the running daemon. Says when that daemon has other settings.
   *
   * @throws CONFIG_INVALID
   */
  protected async load(): Promise<LoadedConfig> {
    const loaded = await loadConfig(this.configFlags, { tolerateFaults: this.tolerateFaults })
    this.#messages.debugOnce(describeLoaded(loaded))
    const daemon = findDaemon(loaded.places.dataDir)
    if (daemon === null || loaded.fault !== null) return loaded
    const adopted = withDaemonsFlags(loaded, daemon)
    const mismatch = this.reportsMismatch ? compareWithDaemon(adopted, daemon) : null
    if (mismatch !== null) this.#messages.tellOnce(`Warning: ${mismatch.message}\n  ${mismatch.remedy}`)
    return adopted
  }

  /** Shows what an operation reports while it runs; commands that display progress override it. */
  protected report(event: OperationEvent): void {
    if (event.kind === 'message') this.tell(event.message)
  }

  /** Prints a line on stderr, with `--json` too: stdout carries the value alone. */
  protected tell(message: string): void {
    this.#messages.tell(message)
  }

  /** Prints the value of `--json`; oclif's own way loads its colours first. */
  protected override logJson(json: unknown): void {
    process.stdout.write(`${JSON.stringify(json, null, 2)}\n`)
  }

  /** Renames input fields in an error to the flags and arguments they came from. src/cli/main.ts prints all errors. */
  protected override async catch(caught: Error): Promise<never> {
    const error = this.#timeLimit?.translate(caught) ?? caught
    if (!(error instanceof PagecacheError) || error.code !== 'INVALID_INPUT') throw error
    throw withTypedNames(error, this.#declared())
  }

  protected override async finally(): Promise<void> {
    this.#timeLimit?.end()
  }

  /** The flags and arguments declared by the class; oclif leaves absent ones undefined. */
  #declared(): CommandInput {
    const { flags = {}, args = {}, fieldNames = {} } = this.ctor as unknown as Partial<CommandInput>
    return { flags, args, fieldNames }
  }
}

// oxlint-disable-next-line typescript/no-explicit-any -- required by oclif's signature
type Shape = Record<string, any>
