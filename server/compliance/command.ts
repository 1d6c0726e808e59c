import { CommandError, defineCommand } from '../cli/command.ts';
import { readBinaryFile } from '../cli/file.ts';
import { type Compliance, PDF_BYTES_MAX } from './compliance.ts';

/** `vault certificate load FILE`. */
export const certificateCommand = defineCommand({
  words: ['certificate', 'load'],
  argument: 'FILE',
  options: {},
  summary: 'Replaces the certificate of compliance, a PDF of at most 10 MB that paying accounts may read.',
  audit: { action: 'compliance_certificate.load' },
  opens: 'vault',
  async run({ argument }, { compliance }: { readonly compliance: Compliance }) {
    const pdf = await readBinaryFile(argument, PDF_BYTES_MAX);
    if (!(await compliance.load(pdf))) {
      throw new CommandError('FILE is not a complete PDF; nothing was loaded.', 1);
    }
    return { data: { bytes: pdf.length }, shown: `Loaded a certificate of ${pdf.length} bytes.` };
  },
});
