-- Catalog orders that left from more than one warehouse and did not come back.
select count(distinct cs_order_number) as order_count, sum(cs_ext_ship_cost) as cost, sum(cs_net_profit) as profit
from catalog_sales cs1, date_dim, customer_address
where d_date between date '2000-01-01' and date '2000-12-31' and cs1.cs_ship_date_sk = d_date_sk
  and cs1.cs_ship_addr_sk = ca_address_sk and ca_state in ('TN', 'GA')
  and exists (select * from catalog_sales cs2 where cs1.cs_order_number = cs2.cs_order_number
              and cs1.cs_warehouse_sk <> cs2.cs_warehouse_sk)
  and not exists (select * from catalog_returns cr1 where cs1.cs_order_number = cr1.cr_order_number)
order by count(distinct cs_order_number) limit 100
