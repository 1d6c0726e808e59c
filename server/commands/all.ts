import { accountCommands } from './account.ts';
import { argon2Commands } from './argon2.ts';
import { auditCommands } from './audit.ts';
import { backupCommands } from './backup.ts';
import { binCommands } from './bin.ts';
import { certificateCommands } from './certificate.ts';
import type { Command } from './command.ts';
import { compactCommands } from './compact.ts';
import { healthCommands } from './health.ts';
import { restoreCommands } from './restore.ts';
import { rotateCommands } from './rotate.ts';
import { verifyCommands } from './verify.ts';

/** All commands, in the order of the help. */
export const COMMANDS: readonly Command[] = [
  ...accountCommands,
  ...binCommands,
  ...certificateCommands,
  ...backupCommands,
  ...restoreCommands,
  ...compactCommands,
  ...verifyCommands,
  ...rotateCommands,
  ...argon2Commands,
  ...healthCommands,
  ...auditCommands,
];
