'use strict';
(() => {
  const tip = document.getElementById('tip');

  // Values under the pointer: the nearest tooltip of the figure, at most this many pixels away.
  const nearest = 24;
  for (const figure of document.querySelectorAll('figure[data-tooltips]')) {
    const tooltips = JSON.parse(figure.dataset.tooltips);
    if (!tooltips.length) continue;
    const drawing = figure.querySelector('.drawing');
    const svg = drawing.querySelector('svg');
    const here = document.createElement('div');
    here.className = 'here';
    here.hidden = true;
    figure.append(here);
    const hide = () => { here.hidden = tip.hidden = true; };
    drawing.addEventListener('pointermove', (e) => {
      const box = svg.getBoundingClientRect();
      let best = null, distance = nearest;
      for (const s of tooltips) {
        const d = Math.hypot(box.left + s[0] * box.width - e.clientX, box.top + s[1] * box.height - e.clientY);
        if (d <= distance) { best = s; distance = d; }
      }
      if (!best) return hide();
      const x = box.left + best[0] * box.width, y = box.top + best[1] * box.height;
      const outer = figure.getBoundingClientRect();
      here.style.left = `${x - outer.left}px`;
      here.style.top = `${y - outer.top}px`;
      tip.textContent = best[2];
      here.hidden = tip.hidden = false;
      const w = tip.offsetWidth, h = tip.offsetHeight;
      tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - w - 4))}px`;
      tip.style.top = `${y - h - 12 > 4 ? y - h - 12 : y + 16}px`;
    });
    drawing.addEventListener('pointerleave', hide);
    addEventListener('scroll', hide, { passive: true });
  }

  // A click on the head of a column sorts by it, another one the other way.
  for (const button of document.querySelectorAll('th button')) {
    button.addEventListener('click', () => {
      const head = button.closest('th'), body = button.closest('table').tBodies[0];
      const k = head.cellIndex;
      const order = head.getAttribute('aria-sort') === 'ascending' ? 'descending' : 'ascending';
      for (const th of head.parentNode.children) th.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', order);
      const key = (row) => row.cells[k];
      const compare = head.classList.contains('n')
        ? (a, b) => parseFloat(key(a).dataset.v) - parseFloat(key(b).dataset.v)
        : (a, b) => key(a).textContent.localeCompare(key(b).textContent);
      const sign = order === 'ascending' ? 1 : -1;
      // Rows without a value come last in either order.
      const missing = (row) => head.classList.contains('n') && !key(row).dataset.v;
      const rows = [...body.rows];
      body.append(...rows.filter((r) => !missing(r)).sort((a, b) => sign * compare(a, b)), ...rows.filter(missing));
    });
  }
})();
