import { CommandError, defineCommand, type Values } from '../cli/command.ts';
import { ACCOUNT, checkAccount, contextOf, type OperatorNeeds, withCommandErrors } from '../cli/operator.ts';
import type { Metering } from '../request/metering.ts';
import type { Erasure } from './erasure.ts';

/** The needs of the command. */
interface Needs extends OperatorNeeds {
  readonly erasure: Erasure;
  readonly metering: Metering;
}

const OPTIONS = {
  ...ACCOUNT,
  user: { kind: 'text', value: 'NAME', help: 'the vault key whose items are deleted' },
  reference: { kind: 'text', value: 'TEXT', help: 'the reference of the items, exactly' },
  yes: { kind: 'flag', help: 'confirms the deletion' },
} as const;

/** Deletes the items of a reference page by page, and reports the number so far after each page. */
async function eraseAll(
  needs: Needs,
  { user = '', reference = '', ...options }: Values<typeof OPTIONS>,
  report: (deleted: number) => void,
): Promise<number> {
  const { erasure, metering } = needs;
  const ctx = await contextOf(needs, options);
  let deleted = 0;
  let nextToken: string | undefined;
  do {
    const erased = await erasure.erase(ctx, { user, reference, next_token: nextToken });
    await metering.settle(ctx);
    deleted += erased.deleted;
    nextToken = erased.nextToken;
    report(deleted);
  } while (nextToken !== undefined);
  return deleted;
}

/** `vault erase`. A command that was interrupted goes on when it is called again. */
export const eraseCommand = defineCommand({
  words: ['erase'],
  options: OPTIONS,
  summary: 'Deletes all items of a reference with their logs, such as those of one customer.',
  audit: { action: 'item.delete', account: 'option' },
  opens: 'vault',
  check({ options }) {
    checkAccount(options);
    const { user, reference, yes } = options;
    if (user === undefined || reference === undefined || reference === '') {
      throw new CommandError('Give the key with --user NAME and the reference with --reference TEXT.', 2);
    }
    if (yes !== true) {
      throw new CommandError('A deletion cannot be undone: add --yes to confirm it.', 2);
    }
  },
  async run({ options, progress }, needs: Needs) {
    const shown = progress('Erasing', 'items');
    const deleted = await withCommandErrors(() => eraseAll(needs, options, shown.at));
    shown.end();
    return {
      data: { user: options.user, deleted },
      shown: `Deleted ${deleted} ${deleted === 1 ? 'item' : 'items'} of the reference.`,
      entry: { object: `items/${options.user ?? ''}/${deleted}`, change: undefined },
    };
  },
});
