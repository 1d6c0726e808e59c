import { accountCommands } from './account.ts';
import { binCommands } from './bin.ts';
import { certificateCommands } from './certificate.ts';
import type { Command } from './command.ts';
import { healthCommands } from './health.ts';
import { rotateCommands } from './rotate.ts';

/** All commands, in the order of the help. */
export const COMMANDS: readonly Command[] = [
  ...accountCommands, //
  ...binCommands,
  ...certificateCommands,
  ...rotateCommands,
  ...healthCommands,
];
