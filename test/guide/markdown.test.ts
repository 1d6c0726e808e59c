import { describe, expect, test } from 'bun:test';
import { renderMarkdown } from '../../server/guide/markdown.ts';

const images = new Map([['forms/gallery.png', { width: 640, height: 480 }]]);
const render = (text: string, file = 'guides/capture.md') => renderMarkdown({ file, text, images });
const fenced = (info: string, code: string): string => `\`\`\`${info}\n${code}\n\`\`\`\n`;

describe('text', () => {
  test.each([
    ['in a block of code', fenced('html', '<script>alert(1)</script>')],
    ['in a block of a language that nobody knows', fenced('brainfuck', '<script>alert(1)</script>')],
    ['in a block without a language', fenced('', '<script>alert(1)</script>')],
    ['in a line', 'Send `<script>alert(1)</script>`.'],
    ['in a heading', '## About <script>alert(1)</script>'],
    ['in a table', '| a |\n|---|\n| <script>alert(1)</script> |'],
    ['as a block', '<script>alert(1)</script>'],
    ['as the text of a link', '[<script>alert(1)</script>](retrieve.md)'],
    ['as the text of an image', '![<script>alert(1)</script>](../forms/gallery.png)'],
    ['as the name of a program', fenced('ts <script>', 'alert(1)')],
  ])('%s stays text', (_where, text) => {
    const { html } = render(text);
    expect(html).not.toMatch(/<script/i);
    expect(html).toMatch(/alert/);
  });

  test.each([
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    '//example.com/x',
    'file:///etc/passwd',
  ])('a link to %s leads nowhere', (href) => {
    expect(render(`[here](${href})`).html).toBe('<p>here</p>\n');
  });

  test('a comment is for whoever edits the file', () => {
    expect(render('<!-- made by a script -->\n\nWords.').html.trim()).toBe('<p>Words.</p>');
  });
});

describe('links', () => {
  test.each([
    ['retrieve.md', '/guide/retrieve'],
    ['retrieve.md#list', '/guide/retrieve#list'],
    ['../settings.md#masking', '/guide/settings#masking'],
    ['../decisions/README.md', '/guide/decisions'],
    ['#errors', '/guide/capture#errors'],
    ['../../README.md', '/guide/quick-start'],
    ['../../sdk/README.md', '/guide/sdk'],
    ['https://www.standardwebhooks.com', 'https://www.standardwebhooks.com'],
  ])('%s becomes %s', (href, target) => {
    expect(render(`[there](${href})`).html).toContain(`<a href="${target}">there</a>`);
  });

  test.each([
    '../../SECURITY.md',
    '../../deploy',
    '../../server/main.ts',
    'none.md',
    '../../../etc/passwd.md',
    'capture.md',
  ])('%s becomes plain text', (href) => {
    expect(render(`[there](${href})`).html).toBe('<p>there</p>\n');
  });

  test('an image that the folder does not have is its text', () => {
    expect(render('![a form](../forms/none.png) ![b](https://example.com/x.png)').html).toBe(
      '<p>a form b</p>\n',
    );
  });
});

describe('blocks of code', () => {
  test('have their words marked, and lose nothing of their text', () => {
    const code = 'curl -su "$AUTH" $VAULT/key -d \'{"a":"<&>"}\' # so';
    const { html } = render(fenced('sh', code));
    expect(html).toContain('<figcaption>Shell</figcaption>');
    expect(html).toContain('class="hljs-');
    const shown = /<code>(.*)<\/code>/s.exec(html)?.[1]?.replaceAll(/<[^>]+>/g, '') ?? '';
    expect(Bun.escapeHTML(code)).toBe(shown.trimEnd());
  });

  test('behind one that is run are its output', () => {
    const { html } = render(
      `${fenced('sh', 'curl')}\n${fenced('json', '{}')}\nWords.\n\n${fenced('json', '{}')}`,
    );
    expect(html.match(/<figcaption>\w+/g)).toEqual([
      '<figcaption>Shell',
      '<figcaption>Output',
      '<figcaption>JSON',
    ]);
  });

  test('of a program that runs beside have its name', () => {
    const { html } = render(
      `${fenced('ts receiver.ts', 'go()')}\nWords.\n\n${fenced('text receiver.ts', 'gone')}`,
    );
    expect(html.match(/<figcaption>[\w. ]+/g)).toEqual([
      '<figcaption>receiver.ts',
      '<figcaption>receiver.ts prints',
    ]);
  });
});

describe('the outline', () => {
  test('has anchors as the usual hosts make them, no two the same', () => {
    const { title, headings } = render('# The `whole`\n\n## Not twice\n\n### `a_b` — ok?\n\n## Not twice\n');
    expect(title).toBe('The whole');
    expect(headings.map(({ depth, anchor }) => [depth, anchor])).toEqual([
      [2, 'not-twice'],
      [3, 'a_b--ok'],
      [2, 'not-twice-1'],
    ]);
  });

  test('has a part for each heading and for each name of a table', () => {
    const { html, sections } = render(
      '# Errors\n\nFirst.\n\n## All\n\n| Status | Code | Why |\n|---|---|---|\n| 410 | `endpoint_gone` | It is over. |\n| none | x | y |\n\n### Deeper\n\nLast.',
    );
    expect(sections).toEqual([
      { anchor: '', headings: [], text: 'First.' },
      {
        anchor: 'all',
        headings: ['All'],
        text: 'Status · Code · Why\n410 · endpoint_gone · It is over.\nnone · x · y',
      },
      { anchor: 'deeper', headings: ['All', 'Deeper'], text: 'Last.' },
      {
        anchor: 'endpoint_gone',
        headings: ['All', 'endpoint_gone'],
        text: '410 · endpoint_gone · It is over.',
      },
    ]);
    expect(html).toContain('<code id="endpoint_gone">endpoint_gone</code>');
  });
});
