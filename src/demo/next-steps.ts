/** The end of the demo: commands to try next. `program`: how pagecache is called on this machine. */
export function nextSteps(program: string): string {
  const steps = [
    ['init', 'write a commented pagecache.yaml for your own shop'],
    ['serve --origin <URL>', 'run the cache in front of it without configuration'],
    ['warmup:start --wait', "fill it from the shop's sitemap"],
    ['demo --keep --port 8080', 'keep this demo running to experiment with'],
    ['monitor', 'watch cache, warmup, purges and queue in the terminal'],
    ['client:create operator', "make a client to log in with on the daemon's page, /admin"],
    ['--help', 'list every command'],
  ].map(([command = '', purpose]) => `  ${program} ${command.padEnd(26)}${purpose}\n`)
  return `\nThat was the demo: shop, cache, warmup, statistics, purges, popup stages, clear. Next steps:\n${steps.join('')}README.md explains all of them.\n`
}
