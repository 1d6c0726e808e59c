import { createHealth } from '../../services/admin/health.ts';
import { defineCommand } from './command.ts';

const health = defineCommand({
  words: ['health'],
  options: {},
  summary:
    'Tells whether Redis and the master key are well, with exit code 0 if so. A running server answers GET /health/ready itself.',
  opens: 'vault',
  async run(_call, { vault }) {
    const { ready, checks } = await createHealth({ redis: vault.probe }, vault.now).ready();
    const states = Object.entries(checks).map(([name, state]) => `${name} ${state}`);
    const shown = [ready ? 'ready' : 'not ready', ...states].join(', ');
    return { data: { ready, checks }, shown, failed: !ready };
  },
});

/** Whether the vault is well. */
export const healthCommands = [health];
