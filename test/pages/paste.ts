/** Pastes the blocks of a page into an empty folder as a reader does: a plain `sh`, the `node` of the machine, nothing of this project. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launchSharedChromium } from '../browser/chromium.ts';
import { freePort } from '../helpers/free-port.ts';
import { packAll } from '../helpers/packages.ts';
import { ALL_BLOCKS, type CodeBlock } from './code-blocks.ts';
import { startServer } from './server.ts';
import { settingsOf } from './start-settings.ts';

const MARK = '\x1e';
const LISTENS = join(import.meta.dir, 'await-port.ts');
const PAGE_RUNNER = join(import.meta.dir, 'run-page.ts');
/** Ends the page's servers where the page has not come to that. */
const LEAVE = `trap 'kill $SANDBOX $RECEIVER $SHOP 2>/dev/null' EXIT\ntrap 'exit 1' TERM\n`;

/** Whether a block shows what the one before it printed. */
function isOutput(info: string | undefined): boolean {
  return info === 'text' || info === 'json';
}

/** A page that makes a certificate, starts the vault with its settings, and then has all that follows pasted. */
export class PastedPage {
  readonly blocks: readonly CodeBlock[];
  /** What a reader does, without the certificate and the start of the vault. */
  readonly steps: readonly CodeBlock[];
  /** The folder of the shop. */
  readonly shop: string;
  printed: readonly string[] = [];
  errors = '';
  private readonly folder = mkdtempSync(join(tmpdir(), 'cv-shop-'));
  private readonly certificate: CodeBlock | undefined;
  private readonly said: readonly (readonly [said: string, meant: string])[];

  /** `said` are the texts of the page that are others here, and what they are. */
  constructor(page: string, said: readonly (readonly [said: string, meant: string])[]) {
    this.blocks = ALL_BLOCKS.filter((block) => block.page === page);
    [this.certificate, ...this.steps] = this.blocks.filter(
      ({ info }) => info !== 'console' && !isOutput(info),
    );
    this.shop = join(this.folder, 'shop');
    this.said = [...said, ...['3000', '3001', '8443'].map((port) => [port, String(freePort())] as const)];
  }

  /** Pastes the whole page, at a vault that runs. `files` are in the folder before. */
  async run(files: Readonly<Record<string, string>> = {}): Promise<void> {
    await packAll();
    const browser = await launchSharedChromium();
    await Bun.$`mkdir ${this.shop}`;
    await this.paste(this.certificate?.code ?? '', '');
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(this.shop, name), this.here(text));
    }
    const settings = this.blocks.find(({ info }) => info === 'console')?.code ?? '';
    const server = await startServer(join(this.folder, 'data'), settingsOf(settings, this.shop));
    try {
      const script = this.steps.map((block) => `${this.stepOf(block)}printf '\\036'\n`).join('');
      const [output, errors] = await this.paste(
        `${LEAVE}${script}`
          .replaceAll('http://127.0.0.1:8080', server.url)
          .replaceAll('the-password-that-was-printed', server.password),
        browser.wsEndpoint(),
      );
      this.printed = output.split(MARK).slice(0, -1);
      this.errors = errors;
    } finally {
      await server.stop();
      await browser.close();
    }
  }

  /** What the page says that a step prints; undefined where it says nothing. */
  outputOf(step: CodeBlock): string | undefined {
    const next = this.blocks[this.blocks.indexOf(step) + 1];
    const shown = isOutput(next?.info) && next?.after === step ? next : undefined;
    return (step.info?.startsWith('text ') ? step : shown)?.code;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** The text with what is meant on this machine. */
  private here(text: string): string {
    return this.said.reduce((changed, [said, meant]) => changed.replaceAll(said, meant), text);
  }

  /** What a reader does for a block: pastes it, saves it, opens the page at a URL, or looks into a log. */
  private stepOf({ info = '', code }: CodeBlock): string {
    const [language, name = ''] = info.split(' ');
    if (language === 'js' || language === 'ts') {
      return `cat > ${name} <<'END_OF_FILE'\n${code}END_OF_FILE\n`;
    }
    if (language === 'sh') {
      return code;
    }
    const { port } = name.startsWith('http') ? new URL(this.here(name)) : { port: '' };
    const bun = process.execPath;
    return port === ''
      ? readLog(name, code.trimEnd().split('\n').length)
      : `${bun} ${LISTENS} ${port}\n${bun} ${PAGE_RUNNER} ${name}\n`;
  }

  private async paste(script: string, browser: string): Promise<readonly [output: string, errors: string]> {
    const file = join(this.folder, 'page.sh');
    writeFileSync(file, this.here(script));
    const shell = Bun.spawn(['sh', file], {
      cwd: this.shop,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], PAGE_BROWSER: browser },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return Promise.all([new Response(shell.stdout).text(), new Response(shell.stderr).text()]);
  }
}

/** Waits, for a minute at most, until a log has as many lines as the page shows. */
function readLog(file: string, lines: number): string {
  return `TRIES=600
until [ "$(wc -l < ${file})" -ge ${lines} ] || [ $((TRIES -= 1)) = 0 ]; do sleep 0.1; done
cat ${file}
`;
}
