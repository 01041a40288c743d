import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { DaemonRunner, serveFlags, toConfigValues, type ServeFlags } from '#src/cli/serve.ts'

export default class Serve extends BaseCommand {
  static override summary = 'Run the daemon: the cache in front of the shop.'
  static override exitCodes = exitCodes.local
  static override examples = [
    {
      description: "Cache one shop; the daemon's address is its public URL",
      command: '<%= config.bin %> <%= command.id %> --origin http://127.0.0.1:8000',
    },
    {
      description: 'Serve the sales channels of pagecache.yaml on port 80 of all addresses',
      command: '<%= config.bin %> <%= command.id %> --host 0.0.0.0 --port 80',
    },
  ]
  static override flags = serveFlags

  readonly #daemon = new DaemonRunner()
  #flags!: ServeFlags

  async run() {
    const { flags } = await this.parse(Serve)
    this.configValues = toConfigValues(flags)
    this.#flags = flags
    this.mayUpgrade = flags.migrate
    return this.withApp((app) => this.#daemon.run(app, flags, this.configFlags))
  }

  protected override tell(message: string): void {
    if (!this.#daemon.warn(message)) super.tell(message)
  }

  protected override load() {
    return this.#daemon.load(this.#flags, this.configFlags)
  }
}
