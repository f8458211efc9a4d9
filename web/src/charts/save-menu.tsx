import { dataCsv } from '../../../src/charts/data-csv.ts';
import type { ChartLook } from '../../../src/charts/option.ts';
import type { ChartData } from '../ask.ts';
import { useTheme } from '../theme.ts';

/** A file: where the server has it, or what makes it here. */
type Way = string | (() => string | Promise<string>);

interface Props {
  title: string;
  ways: Partial<Record<Kind, Way>>;
  /** What the file is called. */
  file(kind: Kind): string;
}

type Kind = 'csv' | 'svg' | 'png';
const KINDS = [
  ['csv', 'Values (CSV)', 'text/csv'],
  ['svg', 'Chart (SVG)', 'image/svg+xml'],
  ['png', 'Chart (PNG)', ''],
] as const;

/** What a chart can be saved as. */
export function SaveMenu({ title, ways, file }: Props) {
  const save = async (kind: Kind, type: string, make: () => string | Promise<string>): Promise<void> => {
    const made = await make();
    const link = document.createElement('a');
    // a picture is an address already
    link.href = type === '' ? made : URL.createObjectURL(new Blob([made], { type }));
    link.download = file(kind);
    link.click();
    if (type !== '') URL.revokeObjectURL(link.href);
  };
  return (
    <details
      class="menu"
      onKeyDown={({ key, currentTarget }) => {
        if (key !== 'Escape') return;
        currentTarget.open = false;
        currentTarget.querySelector('summary')!.focus();
      }}
    >
      <summary aria-label={`Save ${title}`}>Save</summary>
      <div>
        {KINDS.map(([kind, name, type]) => {
          const way = ways[kind];
          if (way === undefined) return null;
          if (typeof way === 'string')
            return (
              <a key={kind} href={way} download>
                {name}
              </a>
            );
          return (
            <button key={kind} type="button" onClick={() => void save(kind, type, way)}>
              {name}
            </button>
          );
        })}
      </div>
    </details>
  );
}

interface DataProps {
  data: ChartData;
  look: Pick<ChartLook, 'start' | 'across'>;
  height: number;
  picture: { current: (() => string) | undefined };
  file(kind: Kind): string;
}

const SVG_WIDTH = 1000;
/** Title and legend, which the page has around the chart. */
const AROUND = 60;

/** The same for a chart that this page has put together. */
export function SaveData({ data, look, height, picture, file }: DataProps) {
  const theme = useTheme();
  const svg = async (): Promise<string> => {
    const { chartSvg } = await import('../../../src/charts/svg.ts');
    return chartSvg(data, { ...look, theme }, { width: SVG_WIDTH, height: height + AROUND });
  };
  return (
    <SaveMenu
      title={data.title}
      ways={{ csv: () => dataCsv(data, look), svg, png: () => picture.current?.() ?? '' }}
      file={file}
    />
  );
}
