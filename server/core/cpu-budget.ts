import { type ErrorCode, VaultError } from './errors.ts';

/** The CPU time of this thread in ms; other work on the machine does not count. */
export function workedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** The CPU time that is left to a task of this thread. */
export interface CpuBudget {
  /** Throws when none is left. To be called between steps: it costs about a microsecond. */
  readonly check: () => void;
}

/** A budget of so many ms that starts now, and the error when it is used up. */
export function createCpuBudget(ms: number, code: ErrorCode): CpuBudget {
  const endMs = workedMs() + ms;
  return {
    check: () => {
      if (workedMs() > endMs) {
        throw new VaultError(code);
      }
    },
  };
}
