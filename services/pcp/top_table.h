/* The tables of `pcp top`: a title line, and rows of columns that fit the frame. */
#ifndef PCP_TOP_TABLE_H
#define PCP_TOP_TABLE_H

#include "pcp/top_canvas.h"
#include "pcp/top_data.h"

typedef struct {
    top_canvas_t *canvas;
    int row, rows; /* of the title; how many follow it */
    int column;    /* where the next cell begins: the table's own */
} top_table_t;

top_table_t top_table_of(top_canvas_t *canvas, int row, int rows);

/* The newest first, those that wait for a place among them; the part of the list that has `chosen`. */
void top_table_runs(top_table_t *self, const top_data_t *data, size_t chosen);
/* Those that work first; beside each its newest finished lease. */
void top_table_workers(top_table_t *self, const top_data_t *data);
/* The newest first. */
void top_table_events(top_table_t *self, const top_data_t *data);

#endif
