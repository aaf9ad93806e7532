// Names each cell of a wide table after its column: on a phone kernsift.css shows a row as a block of named values.
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll(".bd-article table")) {
    const columns = [...table.querySelectorAll("thead th")].map((cell) => cell.textContent.trim());
    if (columns.length < 3) continue;
    table.classList.add("by-rows");
    if (columns.length > 9) table.classList.add("many-columns");
    for (const body of table.tBodies)
      for (const row of body.rows)
        [...row.cells].forEach((cell, i) => { if (cell.textContent.trim()) cell.dataset.column = columns[i] ?? ""; });
  }
});
