import { CommandError, defineCommand } from '../cli/command.ts';
import {
  ACCOUNT,
  checkAccount,
  contextOf,
  keyOption,
  type OperatorNeeds,
  withCommandErrors,
} from '../cli/operator.ts';
import type { ItemRemover } from './remover.ts';

interface Needs extends OperatorNeeds {
  readonly remover: ItemRemover;
}

const OPTIONS = {
  ...ACCOUNT,
  key: keyOption('the vault key whose items are deleted'),
  reference: { kind: 'text', value: 'TEXT', help: 'the reference of the items, exactly' },
  yes: { kind: 'flag', help: 'confirms the deletion' },
} as const;

/** `vault erase`. Continues after an interruption when it is called again. */
export const eraseCommand = defineCommand({
  words: ['erase'],
  options: OPTIONS,
  summary: 'Deletes all items of a reference with their logs, such as those of one customer.',
  audit: { action: 'item.delete', account: 'option' },
  opens: 'vault',
  check({ options }) {
    checkAccount(options);
    const { key, reference, yes } = options;
    if (key === undefined || reference === undefined || reference === '') {
      throw new CommandError('Give the key with --key NAME and the reference with --reference TEXT.', 2);
    }
    if (yes !== true) {
      throw new CommandError('A deletion cannot be undone: add --yes to confirm it.', 2);
    }
  },
  async run({ options, progress }, needs: Needs) {
    const { key: user = '', reference = '' } = options;
    const shown = progress('Erasing', 'items');
    let deleted = 0;
    await withCommandErrors(async () => {
      const ctx = await contextOf(needs, options);
      let next_token: string | undefined;
      do {
        const erased = await needs.remover.erase(ctx, { user, reference, next_token });
        deleted += erased.deleted;
        next_token = erased.nextToken;
        shown.at(deleted);
      } while (next_token !== undefined);
    });
    shown.end();
    return {
      data: { user, deleted },
      shown: `Deleted ${deleted} ${deleted === 1 ? 'item' : 'items'} of the reference.`,
      entry: { object: `items/${user}/${deleted}`, change: undefined },
    };
  },
});
