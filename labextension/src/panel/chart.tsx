import * as React from 'react';

import type { Point } from '../types';
import { useHost } from './host';

const WIDTH = 320;
const HEIGHT = 96;
const EDGE = 6;

interface IChart {
  points: readonly Point[];
  metric: string;
  direction: string;
}

/** The score over time: a dot for each number, and the best so far as a line. Three elements, however many numbers. */
export function ScoreChart({ points, metric, direction }: IChart): JSX.Element | null {
  const { trans } = useHost();
  if (points.length === 0) {
    return <p className="jp-Aide-quiet">{trans.__('No program has a score yet.')}</p>;
  }
  const values = points.map(point => point.value);
  const low = Math.min(...values);
  const high = Math.max(...values);
  const span = high - low || 1;
  const across = (place: number) =>
    EDGE + (points.length === 1 ? 0.5 : place / (points.length - 1)) * (WIDTH - 2 * EDGE);
  const up = (value: number) => HEIGHT - EDGE - (high === low ? 0.5 : (value - low) / span) * (HEIGHT - 2 * EDGE);
  const dots = (good: boolean) =>
    points
      .map((point, place) =>
        point.good === good ? `M${across(place).toFixed(1)} ${up(point.value).toFixed(1)}h0` : ''
      )
      .join('');
  let line = '';
  let last: number | null = null;
  points.forEach((point, place) => {
    if (point.best !== null) {
      line += last === null ? `M${across(place)} ${up(point.best)}` : `H${across(place)}V${up(point.best)}`;
      last = point.best;
    }
  });
  const words = trans.__(
    '%1 over time (%2): %3 numbers, from %4 to %5',
    metric,
    direction,
    points.length,
    number(low),
    number(high)
  );
  return (
    <figure className="jp-Aide-chart">
      <div className="jp-Aide-chartScale" aria-hidden="true">
        <span>{number(high)}</span>
        <span>{high === low ? '' : number(low)}</span>
      </div>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={words} preserveAspectRatio="none">
        <path className="jp-Aide-chartBest" d={line} vectorEffect="non-scaling-stroke" />
        <path className="jp-Aide-chartDots jp-mod-failed" d={dots(false)} vectorEffect="non-scaling-stroke" />
        <path className="jp-Aide-chartDots" d={dots(true)} vectorEffect="non-scaling-stroke" />
      </svg>
      <figcaption className="jp-Aide-quiet">{trans.__('%1, %2. Line: the best so far.', metric, direction)}</figcaption>
    </figure>
  );
}

/** A label of the scale; the numbers that count are worded by the server. */
function number(value: number): string {
  return String(Number(value.toPrecision(4)));
}
