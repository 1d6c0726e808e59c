import { backupCommand } from './backup/backup.ts';
import { restoreCommand } from './backup/restore.ts';
import { accountCommands } from './commands/account.ts';
import { argon2Command } from './commands/argon2.ts';
import { auditCommands } from './commands/audit.ts';
import { binCommand } from './commands/bin.ts';
import { certificateCommand } from './commands/certificate.ts';
import type { Command } from './commands/command.ts';
import { compactCommand } from './commands/compact.ts';
import { credentialCommands } from './commands/credential.ts';
import { eraseCommand } from './commands/erase.ts';
import { exportCommand } from './commands/export.ts';
import { healthCommand } from './commands/health.ts';
import { jobCommands } from './commands/job.ts';
import { recoveryCommands } from './commands/recovery.ts';
import { rotateCommand } from './commands/rotate.ts';
import { rotateRootCommand } from './commands/rotate-root.ts';
import { verifyCommand } from './commands/verify.ts';
import { importCommand } from './import/command.ts';

/** All commands, in the order of the help text. A new command is one entry here. */
export const COMMANDS: readonly Command[] = [
  ...accountCommands,
  ...credentialCommands,
  ...jobCommands,
  ...recoveryCommands,
  eraseCommand,
  exportCommand,
  importCommand,
  binCommand,
  certificateCommand,
  backupCommand,
  restoreCommand,
  compactCommand,
  verifyCommand,
  rotateCommand,
  rotateRootCommand,
  argon2Command,
  healthCommand,
  ...auditCommands,
];
