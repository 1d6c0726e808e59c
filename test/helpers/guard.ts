/** Before a command: the kernel ends its process with this one, also when that is killed. */
export const GUARD: readonly string[] =
  Bun.which('setpriv') === null ? [] : ['setpriv', '--pdeathsig', 'KILL'];
