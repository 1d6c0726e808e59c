import type { Token, Tokens } from 'marked';

/** The visible text of inline tokens. */
export function plainOf(tokens: readonly Token[] = []): string {
  return tokens.map(plainToken).join('');
}

function ownText(token: Token): string {
  return 'text' in token && typeof token.text === 'string' ? token.text : '';
}

function plainToken(token: Token): string {
  switch (token.type) {
    case 'br':
      return ' ';
    case 'html':
      return '';
    case 'codespan':
    case 'image':
      return token['text'];
    default:
      return 'tokens' in token && token.tokens !== undefined ? plainOf(token.tokens) : ownText(token);
  }
}

/** The visible text of a table row, cells separated by dots. */
export function plainRow(cells: readonly Tokens.TableCell[]): string {
  return cells.map(({ tokens }) => plainOf(tokens)).join(' · ');
}

/** The visible text of a block, for the search index. */
export function plainBlock(token: Token): string {
  switch (token.type) {
    case 'table': {
      const { header, rows } = token as Tokens.Table;
      return [header, ...rows].map(plainRow).join('\n');
    }
    case 'list':
      return (token as Tokens.List).items.map(({ tokens }) => tokens.map(plainBlock).join('\n')).join('\n');
    case 'blockquote':
      return (token as Tokens.Blockquote).tokens.map(plainBlock).join('\n');
    case 'space':
    case 'hr':
      return '';
    default:
      return plainToken(token);
  }
}
